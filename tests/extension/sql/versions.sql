-- Versions of a model: numbered by loading, chosen by deploying, kept until dropped.
\pset null (null)
CREATE VIEW versions AS SELECT name, version, deployed, size, loaded_by = current_user AS mine FROM pgboost_models WHERE name = 'm' ORDER BY version;
SELECT load_model('m', file_of('price'));
SELECT predict('m', 60, 4, 1), predict('m@1', 60, 4, 1);
SELECT load_model('m', file_of('price_doubled'));
SELECT predict('m', 60, 4, 1), predict('m@1', 60, 4, 1), predict('m@2', 60, 4, 1);
SELECT * FROM versions;

-- Back and forth.
SELECT deploy_model('m@1');
SELECT predict('m', 60, 4, 1), predict('m@2', 60, 4, 1);
SELECT deploy_model('m@1');
SELECT * FROM versions;
SELECT deploy_model('m@2');
SELECT predict('m', 60, 4, 1);

-- A new version goes into use whichever was; the same file may be loaded again.
SELECT deploy_model('m@1');
SELECT load_model('m', file_of('price_doubled'));
SELECT predict('m', 60, 4, 1);
SELECT * FROM versions;

-- Versions may have other features and labels, even other objectives.
SELECT load_model('m', file_of('flower'), labels => ARRAY['a', 'b', 'c'], allow_change => true);
SELECT predict_class('m', 5, 1), predict('m@3', 60, 4, 1);
SELECT load_model('m', file_of('flower'), labels => ARRAY['x', 'y', 'z'], allow_change => true);
SELECT predict_class('m', 5, 1), predict_class('m@4', 5, 1);
SELECT load_model('no_labels', file_of('flower'), labels => NULL);
SELECT predict_class('no_labels', 5, 1), drop_model('no_labels');
SELECT load_model('m', file_of('price'), feature_names => ARRAY['x', 'y', 'z'], allow_change => true);
SELECT predict('m', '{"x": 60, "y": 4, "z": 1}'::jsonb), predict('m@1', '{"area": 60, "rooms": 4, "age": 1}'::jsonb);

-- Numbers are never used again, not even the last.
SELECT drop_model('m@2');
SELECT predict('m@2', 60, 4, 1);
SELECT drop_model('m@6');
SELECT deploy_model('m@1');
SELECT drop_model('m@6');
SELECT load_model('m', file_of('price_doubled'));
SELECT * FROM versions;
SELECT predict('m@1', 60, 4, 1), predict('m@7', 60, 4, 1), predict('m', 60, 4, 1);

-- A file is exported as it was loaded, byte for byte.
SELECT export_model('m') = file_of('price_doubled') AS deployed, export_model('m@1') = file_of('price') AS first,
       export_model('m@4') = file_of('flower') AS fourth;
SELECT load_model('copy', export_model('m@1'));
SELECT predict('copy', 60, 4, 1);

-- Dropping the model drops all of them, and a new one starts from 1.
SELECT drop_model('m');
SELECT * FROM versions;
SELECT predict('m', 60, 4, 1);
SELECT predict('m@1', 60, 4, 1);
SELECT load_model('m', file_of('price_doubled'));
SELECT predict('m', 60, 4, 1), predict('m@1', 60, 4, 1);
SELECT drop_model('m');
-- The other model made from the same bytes is not touched.
SELECT predict('copy', 60, 4, 1);
SELECT drop_model(model => 'copy');

-- Names are told apart by every byte, and may hold what SQL would stumble over.
SELECT load_model(name, file_of('price')) FROM unnest(ARRAY['M', 'm', 'm ', ' m', 'm''; DROP TABLE model_file; --', 'm"', '$1', '{schema}', 'm\', 'ü', 'u' || U&'\0308']) AS name;
SELECT load_model('M', file_of('price_doubled'));
SELECT name, predict(name, 60, 4, 1) FROM pgboost_models WHERE name NOT IN (SELECT name FROM model_file) AND deployed ORDER BY name COLLATE "C";
SELECT drop_model(name) FROM (SELECT DISTINCT name FROM pgboost_models WHERE name NOT IN (SELECT name FROM model_file)) AS v;
SELECT count(*) FROM model_file;

-- Many versions by one statement.
SELECT load_model('many', CASE WHEN i % 2 = 0 THEN file_of('price') ELSE file_of('price_doubled') END) FROM generate_series(1, 6) AS i;
SELECT i, predict('many@' || i, 60, 4, 1) FROM generate_series(1, 6) AS i;
SELECT deploy_model('many@' || i), predict('many', 60, 4, 1) FROM generate_series(1, 2) AS i;
SELECT version, deployed FROM pgboost_models WHERE name = 'many' ORDER BY version;

-- A version may be stored and not deployed.
SELECT load_model('later', file_of('price'), deploy => false);
SELECT version, deployed FROM pgboost_models WHERE name = 'later';
SELECT predict('later', 60, 4, 1);
SELECT sum(predict('later', x, 4, 1)) FROM generate_series(1, 5000) AS x;
SELECT model_info('later');
SELECT export_model('later');
SELECT create_predict_function('later');
SELECT predict('later@1', 60, 4, 1), model_info('later@1') -> 'deployed' AS deployed, export_model('later@1') = file_of('price') AS bytes;
SELECT drop_model('later@1');
SELECT set_alias('later@1', 'candidate');
SELECT predict('later@candidate', 60, 4, 1);
SELECT drop_alias('later@candidate');
SELECT deploy_model('later@1');
SELECT predict('later', 60, 4, 1);
SELECT load_model('later', file_of('price_doubled'), deploy => false);
SELECT version, deployed FROM pgboost_models WHERE name = 'later' ORDER BY version;
SELECT predict('later', 60, 4, 1) AS deployed, predict('later@2', 60, 4, 1) AS stored;
SELECT load_model('later', file_of('price'), deploy => NULL);
SELECT drop_model('later@2');
SELECT drop_model('later@1');
SELECT drop_model('later');
SELECT load_model('later', file_of('price'), deploy => false);
SELECT drop_model('later');
SELECT predict('later', 60, 4, 1);
