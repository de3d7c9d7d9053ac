-- A model without trees: a sum of products.
SELECT load_model('line', file_of('linear'));
SELECT features, outputs, trees, rounds, depth, format FROM pgboost_models WHERE name = 'line';
SELECT x, predict('line', x), predict_margin('line', x), predict_contribs('line', x) FROM (VALUES (0), (4), (NULL)) AS v (x);
SELECT sum(predict('line', x)) FROM generate_series(1, 1000) AS x;
SELECT x, predict_contribs('line', x) FROM generate_series(1, 1000) AS x WHERE x > 998;
SELECT predict_leaf('line', 1);
\echo :SQLSTATE
SELECT * FROM feature_importance('line', 'weight');
SELECT * FROM feature_importance('line', 'gain');
SELECT load_model('line', file_of('linear'), best_iteration => true);
SELECT load_model('line', file_of('linear'), rounds => 1);
