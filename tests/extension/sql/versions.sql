-- Versions of a model: numbered by loading, chosen by deploying, kept until dropped; what they mean, and which were deployed.
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

-- A version that means something else takes no name's place unless that is said.
SELECT load_model('s', file_of('price')), load_model('s', file_of('price_doubled'));
-- Another task, other labels, in another order, another number of outputs.
SELECT load_model('s', file_of('churn'));
SELECT load_model('s', file_of('targets'));
SELECT load_model('f', file_of('flower'), labels => '{a,b,c}');
SELECT load_model('f', file_of('flower'), labels => '{a,c,b}');
SELECT load_model('f', file_of('flower'), labels => '{a,b,d}');
SELECT load_model('f', file_of('flower'));
SELECT load_model('f', file_of('price'));
-- Without labels, classes are numbers.
SELECT load_model('n', file_of('churn')), load_model('n', file_of('churn'), labels => '{0,1}');
SELECT load_model('n', file_of('churn'), labels => '{no,yes}');
-- Another link, which predict shows: of margins, and of probabilities.
SELECT load_model('l', convert_to('{"tree_ensemble": 1, "task": "binary", "link": "logistic", "num_features": 1, "trees": []}', 'UTF8'));
SELECT load_model('l', convert_to('{"tree_ensemble": 1, "task": "binary", "link": "identity", "num_features": 1, "trees": []}', 'UTF8'));
-- Another quantity; the same by another library's name is none.
SELECT load_model('q', convert_to('{"tree_ensemble": 1, "objective": "reg:squarederror", "num_features": 1, "trees": []}', 'UTF8')),
       load_model('q', convert_to('{"tree_ensemble": 1, "objective": "RMSE", "num_features": 1, "trees": []}', 'UTF8'));
SELECT load_model('q', convert_to('{"tree_ensemble": 1, "objective": "MAE", "num_features": 1, "trees": []}', 'UTF8'));
-- Features at other positions; others are a warning.
SELECT load_model('s', file_of('price'), feature_names => '{rooms,area,age}');
SELECT load_model('s', file_of('price'), feature_names => '{rooms,age,built}');
SELECT load_model('s', file_of('price'), feature_names => '{area,rooms,built}');
-- It can be stored, and deployed once it is said.
SELECT load_model('f', file_of('flower'), labels => '{a,c,b}', deploy => false);
SELECT predict_class('f', 1, 1), predict_class('f@2', 3, 1);
SELECT deploy_model('f@2');
SELECT set_alias('f@1', 'live');
SELECT set_alias('f@2', 'live');
SELECT set_alias('f@2', 'new'), set_alias('f@2', 'live', allow_change => true);
SELECT deploy_model('f@2', allow_change => true), deploy_model('f@2');
SELECT deploy_model('f@1');
SELECT load_model('f', file_of('flower'), labels => '{x,y,z}', allow_change => true);
SELECT deploy_model('f@1', allow_change => NULL);
SELECT drop_alias('f@live'), drop_alias('f@new'), drop_model(m) FROM unnest('{f,n,l,s}'::text[]) AS m WHERE m = 'f';
SELECT drop_model(m) FROM unnest('{n,l,q,s}'::text[]) AS m;

-- The number that a model which compares doubles reads of a real.
SELECT load_model('d', convert_to('{"tree_ensemble": 1, "num_features": 1, "feature_names": ["a"], "trees": [{"left": [1, -1, -1], "right": [2, -1, -1], "feature": [0, 0, 0], "threshold": [0.1, 0, 0], "leaf_values": [10, 20]}]}', 'UTF8'));
SELECT model_info('d') -> 'real_input' AS real_input, predict('d', a), predict('d', ARRAY[a]), predict('d', t), predict('d', to_jsonb(t)),
       predict('d', a::float8) AS widened FROM (SELECT 0.1::real AS a) AS t;
SELECT load_model('d', export_model('d'), real_input => 'float32');
SELECT model_info('d') -> 'real_input' AS real_input, predict('d', a), predict('d', ARRAY[a]), predict('d', t), predict('d', to_jsonb(t)),
       predict('d@1', a) AS first FROM (SELECT 0.1::real AS a) AS t;
SELECT load_model('d', export_model('d'), real_input => 'double');
SELECT load_model('d', export_model('d'), real_input => NULL);
SELECT drop_model('d');

-- A feature that takes texts, numbers, or codes in an array.
SELECT load_model('k', convert_to('{"tree_ensemble": 1, "feature_names": ["k"], "categories": [["a", "b"]], "trees": []}', 'UTF8')),
       load_model('k', convert_to('{"tree_ensemble": 1, "feature_names": ["k"], "categories": [["a", "b", "c"]], "trees": []}', 'UTF8'));
SELECT load_model('k', convert_to('{"tree_ensemble": 1, "feature_names": ["k"], "categories": [["b", "a"]], "trees": []}', 'UTF8'));
SELECT load_model('k', convert_to('{"tree_ensemble": 1, "feature_names": ["k"], "trees": []}', 'UTF8'));
SELECT load_model('k', convert_to('{"tree_ensemble": 1, "feature_names": ["k"], "categories": [[10, 20]], "trees": []}', 'UTF8'), deploy => false);
SELECT deploy_model('k@4');
SELECT deploy_model('k@4', allow_change => true), model_info('k') -> 'array_categories' AS array_categories;
SELECT predict('k', ARRAY[20]), predict('k', ARRAY[1]);
SELECT drop_model('k');

-- Deployments are remembered, a rollback goes back one of them, and comments say why.
CREATE VIEW history AS SELECT name, number, version, previous_version, deployed_by = current_user AS mine, deployed_at = now() AS now, comment
  FROM pgboost_deployments WHERE name IN ('m', 'renamed', 'f') ORDER BY name, number;
SELECT load_model('m', file_of('price'));
SELECT rollback_model('m');
SELECT load_model('m', file_of('price_doubled')), load_model('m', file_of('price'), deploy => false);
SELECT deploy_model('m@3', comment => 'trained on March');
SELECT name, number, version, previous_version, mine, comment FROM history;

-- Back as undo does: once more is one version further, and after a new deployment it undoes that one.
SELECT rollback_model('m', comment => 'March was wrong'), predict('m', 60, 4, 1);
SELECT rollback_model('m'), predict('m', 60, 4, 1);
SELECT rollback_model('m');
SELECT deploy_model('m@3'), deploy_model('m@3', comment => 'again'), rollback_model('m');
SELECT number, version, previous_version, comment FROM history;

-- The history follows the model's name, and what rolls back leaves no line.
SELECT rename_model('m', 'renamed');
BEGIN;
SELECT deploy_model('renamed@3');
ROLLBACK;
SELECT name, count(*), max(number) FROM history GROUP BY name;
SELECT rollback_model('m');
SELECT rollback_model('renamed@1');
SELECT rollback_model(NULL);
SELECT rollback_model('renamed', allow_change => NULL);

-- Not to a version that means something else, unless that is meant, and not to one that was dropped.
SELECT load_model('f', file_of('flower')), load_model('f', file_of('flower'), labels => '{a,b,c}', allow_change => true);
SELECT rollback_model('f');
SELECT rollback_model('f', allow_change => true);
SELECT deploy_model('renamed@2'), drop_model('renamed@1');
SELECT rollback_model('renamed');
SELECT predict('renamed', 60, 4, 1);

-- A registry of an earlier release has no history: the deployed version gets a line with the next deployment.
DELETE FROM pgboost_catalog.deployment;
SELECT rollback_model('renamed');
SELECT deploy_model('renamed@3');
SELECT number, version, previous_version, mine, comment FROM history WHERE name = 'renamed';
SELECT rollback_model('renamed');

-- Comments of a model and of a version.
SELECT set_model_comment('renamed', 'prices of homes'), set_model_comment('renamed@3', E'it''s "new"');
SELECT version, comment, model_comment FROM pgboost_models WHERE name = 'renamed' ORDER BY version;
SELECT model_info('renamed@3') ->> 'comment' AS comment, model_info('renamed@3') ->> 'model_comment' AS model_comment;
SELECT set_model_comment('renamed', NULL), set_model_comment('renamed@3', NULL);
SELECT count(comment), count(model_comment) FROM pgboost_models;
SELECT set_model_comment('renamed@9', 'x');
SELECT set_model_comment('none', 'x');

-- Only an owner deploys, goes back and comments; who may predict sees the history, others do not.
CREATE ROLE regress_deployer;
GRANT EXECUTE ON FUNCTION deploy_model, rollback_model, set_model_comment TO regress_deployer;
SET ROLE regress_deployer;
SELECT rollback_model('renamed');
SELECT set_model_comment('renamed', 'mine');
SELECT count(*) FROM pgboost_deployments;
RESET ROLE;
SELECT grant_model('renamed', 'regress_deployer');
SET ROLE regress_deployer;
SELECT rollback_model('renamed');
SELECT count(*) FROM pgboost_deployments;
RESET ROLE;
SELECT set_model_owner('renamed', 'regress_deployer');
SET ROLE regress_deployer;
SELECT deploy_model('renamed@3');
SELECT deployed_by FROM pgboost_deployments ORDER BY number DESC LIMIT 1;
RESET ROLE;

-- The history goes with the model: a new one of the name has its own.
SELECT drop_model('renamed'), drop_model('f');
SELECT count(*) FROM history;
DROP OWNED BY regress_deployer;
DROP ROLE regress_deployer;
