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
