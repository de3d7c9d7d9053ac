-- Every error has a SQLSTATE, leaves the connection usable, and stores nothing.
-- predict_*.sql have the errors that depend on the form of the features.
\pset null (null)
CREATE VIEW stored AS SELECT count(*) AS versions, count(DISTINCT name) AS models FROM pgboost_models;
SELECT * FROM stored;

-- Names and versions.
SELECT predict('nosuch', 1);
\echo :SQLSTATE
SELECT predict('price@2', 60, 4, 1);
\echo :SQLSTATE
SELECT predict('price@', 60, 4, 1), predict('price@1', 60, 4, 1);
\echo :SQLSTATE
SELECT predict('price@0', 60, 4, 1);
SELECT predict('price@-1', 60, 4, 1);
SELECT predict('price@latest', 60, 4, 1);
SELECT predict('price@4294967297', 60, 4, 1);
SELECT predict('', 1);
\echo :SQLSTATE
SELECT predict('@1', 1);
SELECT predict(repeat('x', 64), 1);
SELECT load_model('a@b', file_of('price'));
\echo :SQLSTATE
SELECT load_model('', file_of('price'));
SELECT load_model(repeat('ß', 32), file_of('price'));
SELECT load_model(repeat('x', 63), file_of('price'));
SELECT predict(repeat('x', 63), 60, 4, 1), predict(repeat('x', 63) || '@1', 60, 4, 1);
SELECT drop_model(repeat('x', 63));

-- The features' number, types and names.
SELECT predict('price', 60);
\echo :SQLSTATE
SELECT predict('price', 60, interval '1 day', 1);
\echo :SQLSTATE
SELECT predict('price', '{"area": 60}'::jsonb);
\echo :SQLSTATE
SELECT predict('nameless', '{"area": 60}'::jsonb);
\echo :SQLSTATE
SELECT predict('price', ARRAY[[60, 4, 1]]);
\echo :SQLSTATE
SELECT predict('price', ARRAY['60', '4', '1']);
\echo :SQLSTATE
SELECT predict('price', ARRAY[NULL, NULL, NULL]);
SELECT predict('price', r) FROM (SELECT 60 AS area, 4 AS rooms, 1 AS age, 5 AS rooms) AS r;
\echo :SQLSTATE
SELECT predict('price', r) FROM (SELECT 60 AS area, 4 AS rooms, 1 AS age, 1 AS more, 2 AS more) AS r;
SELECT predict('tickets', 'holiday', 10, 1);
\echo :SQLSTATE
SELECT predict('flower', 1, 1);
\echo :SQLSTATE
SELECT predict_class('price', 1, 1, 1);
\echo :SQLSTATE

-- NULL where there must be a value.
SELECT load_model(NULL, file_of('price'));
\echo :SQLSTATE
SELECT load_model('m', NULL);
SELECT load_model('m', file_of('price'), feature_names => ARRAY['a', NULL, 'c']);
SELECT load_model('m', file_of('flower'), labels => ARRAY['a', NULL, 'c']);
SELECT deploy_model(NULL);
SELECT deploy_model('price');
SELECT drop_model(NULL);
SELECT export_model(NULL);
SELECT grant_model(NULL, 'public');
SELECT grant_model('price', NULL);
SELECT revoke_model('price', NULL);
SELECT model_info(NULL);
SELECT * FROM model_features(NULL);
SELECT * FROM feature_importance(NULL);
SELECT * FROM feature_importance('price', NULL);

-- Models and versions that do not exist.
SELECT deploy_model('nosuch@1');
\echo :SQLSTATE
SELECT deploy_model('price@2');
\echo :SQLSTATE
SELECT drop_model('nosuch');
SELECT drop_model('price@2');
SELECT drop_model('price@1');
\echo :SQLSTATE
SELECT export_model('nosuch');
SELECT export_model('price@2');
SELECT grant_model('nosuch', 'public');
SELECT grant_model('price', 'regress_nobody');
\echo :SQLSTATE
SELECT grant_model('price', 'PUBLIC');
SELECT revoke_model('price', 'regress_nobody');
SELECT model_info('nosuch');
SELECT model_info('price@7');
SELECT * FROM model_features('nosuch');
SELECT * FROM model_features('price@7');
SELECT * FROM feature_importance('nosuch');
SELECT * FROM feature_importance('price', 'shap');
\echo :SQLSTATE

-- Files that are no model, damaged, or of a kind that is not scored.
SELECT load_model('m', '');
\echo :SQLSTATE
SELECT load_model('m', '\x00');
SELECT load_model('m', 'hello');
\echo :SQLSTATE
SELECT load_model('m', '{}');
\echo :SQLSTATE
SELECT load_model('m', '[]');
SELECT load_model('m', '{"learner": {}, "version": [3, 2, 0]}');
SELECT load_model('m', '{"a": 1, "a": 2}');
SELECT load_model('m', '{"a": "\377"}'::bytea);
SELECT load_model('m', convert_to('{"learner": 1e999999}', 'UTF8'));
SELECT load_model('m', convert_to(repeat('[', 100000), 'UTF8'));
SELECT load_model('m', substr(file_of('price'), 1, 1000));
\echo :SQLSTATE
SELECT load_model('m', substr(file_of('price_doubled'), 1, 1000));
SELECT load_model('m', file_of('price') || '\x00');
SELECT load_model('m', convert_to('binf' || repeat(' ', 200), 'UTF8'));
SELECT load_model('m', '\x80049525');
SELECT load_model('m', convert_to(E'booster[0]:\n0:[f0<1] yes=1,no=2,missing=1', 'UTF8'));

-- A tree whose child is out of range, which lies in a circle, or splits on what is not there.
CREATE FUNCTION altered(path text, value text) RETURNS bytea LANGUAGE sql STABLE
    RETURN convert_to(jsonb_set(convert_from(file_of('price_doubled'), 'UTF8')::jsonb, path::text[], value::jsonb)::text, 'UTF8');
SELECT load_model('m', altered('{learner,gradient_booster,model,trees,0,left_children}', '[7, -1, -1]'));
\echo :SQLSTATE
SELECT load_model('m', altered('{learner,gradient_booster,model,trees,1,left_children}', '[0, -1, -1]'));
SELECT load_model('m', altered('{learner,gradient_booster,model,trees,1,right_children}', '[1, -1, -1]'));
SELECT load_model('m', altered('{learner,gradient_booster,model,trees,0,split_indices}', '[3, 0, 0]'));
\echo :SQLSTATE
SELECT load_model('m', altered('{learner,gradient_booster,model,trees,0,split_conditions}', '["NaN", 1, 1]'));
SELECT load_model('m', altered('{learner,gradient_booster,model,trees,0,split_conditions}', '[1, 1]'));
SELECT load_model('m', altered('{learner,gradient_booster,model,tree_info}', '[0, 9]'));
SELECT load_model('m', altered('{learner,objective,name}', '"reg:nosuch"'));
SELECT load_model('m', altered('{learner,learner_model_param,num_feature}', '"99999999"'));
SELECT load_model('m', altered('{learner,gradient_booster,name}', '"gbforest"'));
\echo :SQLSTATE
SELECT load_model('m', altered('{learner,gradient_booster,name}', '"gblinear"'));

-- Names and labels that do not fit.
SELECT load_model('m', file_of('price'), feature_names => ARRAY['a', 'b']);
\echo :SQLSTATE
SELECT load_model('m', file_of('price'), feature_names => ARRAY['a', 'b', 'a']);
SELECT load_model('m', file_of('flower'), labels => ARRAY['a', 'b']);
\echo :SQLSTATE
SELECT load_model('m', file_of('price'), labels => ARRAY['a']);
SELECT load_model('m', file_of('flower'), labels => ARRAY[['a', 'b', 'c']]);
\echo :SQLSTATE
SELECT load_model('m', file_of('flower'), labels => ARRAY[]::text[]);
\echo :SQLSTATE
SELECT load_model('m', file_of('price'), feature_names => ARRAY[['a', 'b', 'c']]);
SELECT load_model('m', file_of('flower'), labels => ARRAY['a', 'b', 'a']);
-- A file's name in place of its bytes.
SELECT load_model('m', 'model.ubj');
SELECT load_model('m', '/tmp/model');
SELECT load_model('m', 'my model.cbm');
SELECT load_model('m', 'models/churn.pkl.gz');
\echo :SQLSTATE

-- A file above the limit.
SET pgboost.max_model_size = '1kB';
SELECT load_model('m', file_of('price'));
\echo :SQLSTATE
RESET pgboost.max_model_size;

-- An error in the middle of a scan, and caught in PL/pgSQL.
SELECT predict(m, 60, 4, 1) FROM (VALUES ('price'), ('nosuch'), ('price')) AS v (m);
DO $$
DECLARE
    message text;
    hint text;
BEGIN
    FOR i IN 1..3 LOOP
        BEGIN
            PERFORM load_model('m', 'hello');
        EXCEPTION WHEN invalid_binary_representation THEN
            GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, hint = PG_EXCEPTION_HINT;
            RAISE NOTICE 'caught %: %', SQLSTATE, message;
        END;
        BEGIN
            PERFORM predict('price', 60);
        EXCEPTION WHEN OTHERS THEN
            RAISE NOTICE 'caught %: %', SQLSTATE, SQLERRM;
        END;
        RAISE NOTICE 'predicted %', predict('price', 60, 4, 1);
    END LOOP;
END $$;

-- A registry that somebody has changed by hand.
BEGIN;
DELETE FROM pgboost_catalog.version WHERE model = (SELECT id FROM pgboost_catalog.model WHERE name = 'price');
SELECT predict('price', 60, 4, 1);
\echo :SQLSTATE
ROLLBACK;
BEGIN;
UPDATE pgboost_catalog.file_part SET bytes = 'hello' WHERE model = (SELECT id FROM pgboost_catalog.model WHERE name = 'price');
SELECT export_model('price');
\echo :SQLSTATE
ROLLBACK;
BEGIN;
UPDATE pgboost_catalog.version SET feature_names = ARRAY['only one'] WHERE model = (SELECT id FROM pgboost_catalog.model WHERE name = 'price');
SELECT predict('price', 60, 4, 1);
\echo :SQLSTATE
ROLLBACK;
BEGIN;
UPDATE pgboost_catalog.version SET digest = sha256('hello') WHERE model = (SELECT id FROM pgboost_catalog.model WHERE name = 'price');
SELECT predict('price', 60, 4, 1);
\echo :SQLSTATE
ROLLBACK;
BEGIN;
ALTER TABLE pgboost_catalog.version ALTER digest DROP NOT NULL;
UPDATE pgboost_catalog.version SET digest = NULL WHERE model = (SELECT id FROM pgboost_catalog.model WHERE name = 'price');
SELECT predict('price', 60, 4, 1);
\echo :SQLSTATE
ROLLBACK;
BEGIN;
UPDATE pgboost_catalog.model SET deployed = 9 WHERE name = 'price';
SELECT predict('price', 60, 4, 1);
\echo :SQLSTATE
ROLLBACK;
BEGIN;
ALTER TABLE pgboost_catalog.version RENAME TO version_1;
SELECT predict('price', 60, 4, 1);
\echo :SQLSTATE
ROLLBACK;

-- After all of this the connection works, and there is no more than before.
SELECT predict('price', 60, 4, 1);
SELECT * FROM stored;
