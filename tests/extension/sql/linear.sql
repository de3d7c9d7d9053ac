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

-- LightGBM's linear_tree: up to x = 5 a leaf gives 1e9 y - 1e8, above 2 + x - y / 2; where one of these is missing, 7 or 8.
SELECT load_model('slopes', convert_to($$tree
version=v4
num_class=1
num_tree_per_iteration=1
label_index=0
max_feature_idx=1
objective=regression
feature_names=x y
feature_infos=[0:10] [-1:1]

Tree=0
num_leaves=2
num_cat=0
split_feature=0
split_gain=1
threshold=5
decision_type=10
left_child=-1
right_child=-2
leaf_value=7 8
leaf_weight=1 1
leaf_count=1 1
internal_value=0
internal_weight=0
internal_count=2
is_linear=1
leaf_const=-100000000 2
num_features=1 2
leaf_features=1  0 1
leaf_coeff=1000000000  1 -0.5
shrinkage=1


end of trees
$$, 'UTF8'));
CREATE TABLE slopes (id int, x int, y float8);
INSERT INTO slopes VALUES (1, 1, 0.1), (2, 1, 0.1::real), (3, 6, 0.9999999999999999), (4, NULL, 0.25), (5, 6, NULL), (6, 1, NULL), (7, NULL, NULL), (8, 9, 1e-36);
-- Every form has the double: 0.1 is no real.
SELECT id, predict('slopes', x, y) AS columns, predict('slopes', s) AS row, predict('slopes', ARRAY[x, y]) AS array,
  predict('slopes', jsonb_build_object('x', x, 'y', y)) AS object, predict('slopes', x, y::numeric) AS number, predict('slopes', x::real, y::real) AS real,
  predict_leaf('slopes', s) AS leaf
FROM slopes AS s ORDER BY id;
SELECT predict('slopes', 1, 0.1), predict('slopes', 1::real, 0.1::real), predict('slopes', ARRAY[1, 0.1]::real[]),
  predict('slopes', '{"x": 1, "y": 0.1}'::jsonb), predict_margin('slopes', 6::numeric, 0.5::real), predict_array('slopes', ARRAY[6, 0.5]);
-- The same without batches, and with each kernel.
CREATE VIEW answers AS SELECT id, predict('slopes', x, y) AS of_columns, predict('slopes', s) AS of_row, predict('slopes', ARRAY[x, y]) AS of_array FROM slopes AS s;
CREATE TABLE batched AS SELECT * FROM answers;
SET pgboost.enable_batch = off;
SELECT count(*) FROM (TABLE answers EXCEPT TABLE batched) AS differing;
RESET pgboost.enable_batch;
SET pgboost.kernel = portable;
SELECT count(*) FROM (TABLE answers EXCEPT TABLE batched) AS differing;
RESET pgboost.kernel;
-- Missing is NULL, and not what half of a double looks like.
SELECT pg_stat_pgboost_reset();
SET pgboost.track_predictions = on;
SELECT count(predict('slopes', x, y)) FROM slopes;
SELECT predict('slopes', 6, 0.9999999999999999), predict('slopes', 6, NULL);
RESET pgboost.track_predictions;
SELECT rows, missing_rows FROM pg_stat_pgboost WHERE name = 'slopes';
SELECT metric, value FROM evaluate_model('slopes', 'SELECT x, y, 1 AS target FROM slopes WHERE id IN (1, 3)', 'target') WHERE metric = 'mae';
SELECT * FROM feature_importance('slopes', 'weight');
SELECT * FROM feature_importance('slopes', 'gain');
SELECT trees, depth, format FROM pgboost_models WHERE name = 'slopes';
SELECT predict_contribs('slopes', 1, 0.1);
\echo :SQLSTATE
SELECT predict_interactions('slopes', x, y) FROM slopes;
\echo :SQLSTATE
SELECT predict('slopes', 1);
