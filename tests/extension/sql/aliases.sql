-- References: aliases, their versions, the privileges to change them, and the drops that they prevent.
\pset null (null)
SET client_min_messages = warning;
SELECT load_model('m', file_of('price')), load_model('m', file_of('price_doubled')), load_model('m', file_of('price'));

-- An alias means its version, whatever is deployed.
SELECT set_alias('m@1', 'champion'), set_alias('m@2', 'challenger');
SELECT predict('m', 60, 4, 1), predict('m@champion', 60, 4, 1), predict('m@challenger', 60, 4, 1), predict('m@2', 60, 4, 1);
SELECT deploy_model('m@2');
SELECT predict('m', 60, 4, 1), predict('m@champion', 60, 4, 1);
SELECT model_info('m@challenger') ->> 'version' AS version, (SELECT count(*) FROM model_features('m@champion')) AS features;
SELECT * FROM pgboost_aliases ORDER BY name, alias;
-- Champion and challenger side by side.
SELECT area, predict('m@champion', area, 4, 1), predict('m@challenger', area, 4, 1)
  FROM generate_series(40, 60, 10) AS area ORDER BY area;
-- It can be given to another version.
SELECT set_alias('m@2', 'champion'), predict('m@champion', 60, 4, 1);
SELECT predict('m@champion', 60, 4, 1);
SELECT set_alias('m@3', 'champion');

-- Invalid aliases and references.
SELECT predict('m@nobody', 60, 4, 1);
SELECT predict('nosuch@champion', 60, 4, 1);
SELECT predict('m@Champion', 60, 4, 1);
SELECT set_alias('m@4', 'champion');
SELECT set_alias('nosuch@1', 'champion');
SELECT drop_alias('m@nobody');
SELECT set_alias('m@1', wrong) FROM unnest(ARRAY['1']) AS wrong;
SELECT set_alias('m@1', '2nd');
SELECT set_alias('m@1', '');
SELECT set_alias('m@1', '-1');
SELECT set_alias('m@1', 'a@b');
SELECT set_alias('m@1', repeat('x', 64));
SELECT set_alias('m@1', NULL);
SELECT set_alias('m@', 'champion');
SELECT set_alias(NULL, 'champion');
SELECT predict('m@1x', 60, 4, 1);
-- Names that are allowed.
SELECT count(set_alias('m@1', alias)::text) FROM unnest(ARRAY['_', 'v2', 'über', 'it''s "quoted"', repeat('x', 63)]) AS alias;
SELECT alias, predict(name || '@' || alias, 60, 4, 1) FROM pgboost_aliases WHERE version = 1 ORDER BY alias COLLATE "C";
SELECT count(drop_alias(name || '@' || alias)::text) FROM pgboost_aliases WHERE version = 1;

-- A version that an alias refers to stays; the model goes with its aliases.
SELECT drop_model('m@3');
SELECT drop_alias('m@champion'), drop_model('m@3');
SELECT predict('m@champion', 60, 4, 1);
SELECT drop_model('m');
SELECT * FROM pgboost_aliases;
SELECT load_model('m', file_of('price'));
SELECT predict('m@challenger', 60, 4, 1);

-- Transactions: an alias rolls back, and a snapshot keeps its own.
SELECT load_model('m', file_of('price_doubled')), set_alias('m@1', 'champion');
BEGIN;
SELECT set_alias('m@2', 'champion');
SELECT predict('m@champion', 60, 4, 1);
SAVEPOINT s;
SELECT drop_alias('m@champion');
SELECT predict('m@champion', 60, 4, 1);
ROLLBACK TO s;
SELECT predict('m@champion', 60, 4, 1);
ROLLBACK;
SELECT predict('m@champion', 60, 4, 1);
BEGIN;
DECLARE c CURSOR FOR SELECT predict('m@champion', 60, 4, 1) FROM generate_series(1, 3);
FETCH c;
SELECT set_alias('m@2', 'champion');
FETCH c;
SELECT predict('m@champion', 60, 4, 1);
FETCH c;
COMMIT;
PREPARE again AS SELECT predict('m@champion', 60, 4, 1);
EXECUTE again;
SELECT set_alias('m@1', 'champion');
EXECUTE again;

-- Rights are the model's; only the owner can change aliases.
CREATE ROLE regress_alias_owner;
CREATE ROLE regress_alias_user;
GRANT EXECUTE ON FUNCTION load_model, set_alias, drop_alias TO regress_alias_owner;
SET ROLE regress_alias_owner;
SELECT load_model('owned', file_of('price'));
SELECT set_alias('owned@1', 'best');
SELECT set_alias('m@2', 'champion');
SELECT drop_alias('m@champion');
SET ROLE regress_alias_user;
SELECT set_alias('owned@1', 'best');
SELECT drop_alias('owned@best');
SELECT predict('owned@best', 60, 4, 1);
SELECT predict('owned@nobody', 60, 4, 1);
SELECT * FROM pgboost_aliases;
SELECT * FROM pgboost_catalog.alias;
RESET ROLE;
SELECT grant_model('owned', 'regress_alias_user');
SET ROLE regress_alias_user;
SELECT predict('owned@best', 60, 4, 1);
SELECT * FROM pgboost_aliases;
SELECT predict('owned@nobody', 60, 4, 1);
RESET ROLE;
SELECT revoke_model('owned', 'regress_alias_user');
SET ROLE regress_alias_user;
SELECT predict('owned@best', 60, 4, 1);
RESET ROLE;
-- In a policy, the rights are those of the user who queries.
CREATE TABLE flat (area int, rooms int, age int);
INSERT INTO flat SELECT area, 4, 1 FROM generate_series(40, 60, 10) AS area;
ALTER TABLE flat ENABLE ROW LEVEL SECURITY;
CREATE POLICY cheap ON flat USING (predict('owned@best', area, rooms, age) < 50);
GRANT SELECT ON flat TO regress_alias_user;
SELECT count(*) FROM flat;
SET ROLE regress_alias_user;
SELECT count(*) FROM flat;
RESET ROLE;
SELECT grant_model('owned', 'regress_alias_user');
SET ROLE regress_alias_user;
SELECT count(*) FROM flat;
RESET ROLE;
DROP TABLE flat;
SELECT drop_model('owned');
DROP OWNED BY regress_alias_owner;
DROP ROLE regress_alias_owner, regress_alias_user;

-- A change of the table by hand is reported as an error.
BEGIN;
UPDATE pgboost_catalog.alias SET version = 9;
SELECT predict('m@champion', 60, 4, 1);
ROLLBACK;
TRUNCATE pgboost_catalog.alias;
SELECT predict('m@champion', 60, 4, 1);

SELECT drop_model('m');
-- A reference is m, m@3 or m@alias in every function; a model can be renamed and given to another role.
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
SELECT set_model_owner('given', 'public');
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
