-- A reference is m, m@3 or m@alias in every function; a model can be renamed and given to another role.
\pset null (null)
SET client_min_messages = warning;
SELECT load_model('m', file_of('price')), load_model('m', file_of('price_doubled'));
SELECT set_alias('m', 'newest'), set_alias('m@1', 'champion');
SELECT set_alias('m@champion', 'first');
SELECT * FROM pgboost_aliases ORDER BY alias;
SELECT export_model('m@champion') = file_of('price') AS by_alias, export_model('m@2') = file_of('price_doubled') AS by_number,
       export_model('m') = file_of('price_doubled') AS deployed;
SELECT deploy_model('m@champion');
SELECT predict('m', 60, 4, 1);
SELECT load_model('kept', file_of('price'));
SELECT set_alias('kept', 'first');
SELECT pin_model('kept@first');
SELECT version, pinned FROM pgboost_models WHERE name = 'kept';
SELECT unpin_model('kept');

-- Where a version is needed, or a whole model, or an alias.
SELECT deploy_model('m');
SELECT grant_model('m@1', 'public');
SELECT rename_model('m@1', 'n');
SELECT set_model_owner('m@champion', CURRENT_USER);
SELECT drop_alias('m');
SELECT drop_alias('m@1');
SELECT drop_alias('m@none');
SELECT deploy_model('m@none');
SELECT deploy_model('m@3');
SELECT export_model('m@3');
SELECT load_model('m@3', file_of('price'));
SELECT drop_model('m@first');
SELECT drop_alias('m@newest'), drop_model('m@2');
SELECT version FROM pgboost_models WHERE name = 'm';

-- Another name.
SELECT load_model('taken', file_of('price'));
SELECT rename_model('m', 'taken');
SELECT rename_model('m', 'a@b');
SELECT rename_model('none', 'n');
SELECT rename_model('m', NULL);
SELECT rename_model('m', 'n');
SELECT predict('n@champion', 60, 4, 1), predict('n', '{60,4,1}'::real[]);
SELECT name, version, deployed FROM pgboost_models WHERE name IN ('m', 'n') ORDER BY name;
SELECT predict('m', 60, 4, 1);
SELECT load_model('m', file_of('price_doubled'));
SELECT predict('n', 60, 4, 1), predict('m', 60, 4, 1);
SELECT load_model('n', file_of('flower'), allow_change => true);
-- The predictions of predict_pinned for a name never change.
SELECT rename_model('kept', 'freed');
SELECT drop_model('kept');
SELECT rename_model('m', 'kept');
SELECT create_predict_function('taken', 'of_taken');
SELECT rename_model('taken', 'free');

-- Another owner.
CREATE ROLE regress_giver;
CREATE ROLE regress_taker;
CREATE ROLE regress_team;
GRANT regress_team TO regress_giver;
GRANT EXECUTE ON FUNCTION load_model TO regress_giver;
SET ROLE regress_giver;
SELECT load_model('given', file_of('price'));
SELECT set_model_owner('given', 'regress_taker');
SELECT set_model_owner('given', 'regress_nobody');
SELECT set_model_owner('given', 'regress_team');
SELECT name, owner FROM pgboost_models WHERE name = 'given';
SELECT set_model_owner('m', 'regress_giver');
RESET ROLE;
SELECT set_model_owner('given', 'regress_taker');
SELECT name, owner FROM pgboost_models WHERE name = 'given';
SET ROLE regress_giver;
SELECT predict('given', 60, 4, 1);
RESET ROLE;
SET ROLE regress_taker;
SELECT predict('given', 60, 4, 1), rename_model('given', 'mine');
RESET ROLE;
SELECT drop_model('mine');
DROP OWNED BY regress_giver;
DROP ROLE regress_giver, regress_taker, regress_team;

-- Probabilities by label, or by number.
SELECT load_model('churn', file_of('churn'), labels => ARRAY['stays', 'leaves'], allow_change => true);
SELECT predict_proba('churn', 9, 1), predict_proba('churn@1', '{4,1}'::real[]), predict('churn', 9, 1);
SELECT load_model('plain', file_of('churn'));
SELECT predict_proba('plain', 9, 1), predict_proba(NULL, 9, 1);
SELECT load_model('flower', file_of('flower'), labels => ARRAY['seto"sa', 'versicolor', 'virginica'], allow_change => true);
SELECT predict_proba('flower', 1, 1), (predict_proba('flower', 9, 1) ->> 'virginica')::real = (predict_array('flower', 9, 1))[3] AS same;
SELECT predict_proba('flower', i, 1) AS proba, count(*) AS rows FROM generate_series(1, 1000) AS i GROUP BY 1 ORDER BY rows;
SELECT predict_proba('taken', 60, 4, 1);
SELECT load_model('class', file_of('flower_class'));
SELECT predict_proba('class', 1, 1);
