-- The results of the five functions, for each kind of model.
\pset null (null)

-- Regression: one value, which is also the margin.
SELECT predict('price', 60, 4, 1), predict_array('price', 60, 4, 1), predict_margin('price', 60, 4, 1), predict_leaf('price', 60, 4, 1);
SELECT predict_class('price', 60, 4, 1);

-- Binary: the probability of class 1, its margin before the sigmoid, and the likelier class.
SELECT calls, predict('churn', calls, 5), predict_array('churn', calls, 5), predict_margin('churn', calls, 5),
       predict_class('churn', calls, 5), predict_leaf('churn', calls, 5)
  FROM (VALUES (0), (8), (9), (NULL)) AS v (calls);
SELECT load_model('named_churn', file_of('churn'), labels => ARRAY['stays', 'leaves']);
SELECT predict_class('named_churn', calls, 5) FROM (VALUES (0), (8), (9)) AS v (calls);

-- Several classes: probabilities that sum to 1, margins, a leaf a tree, and a label.
SELECT length, predict_array('flower', length, 1), predict_margin('flower', length, 1), predict_class('flower', length, 1),
       predict_leaf('flower', length, 1)
  FROM (VALUES (1.0), (3), (5), (NULL)) AS v (length);
SELECT predict('flower', 1, 1);
SELECT load_model('unlabelled', file_of('flower'));
SELECT predict_class('unlabelled', length, 1) FROM (VALUES (1), (3), (5)) AS v (length);

-- The first of the largest probabilities, although the second margin is larger.
\getenv directory PG_ABS_SRCDIR
\set content `base64 -w0 :'directory'/sql/../../../extension/gbtrees/tests/golden/tie.json`
SELECT load_model('tie', decode(:'content', 'base64'));
SELECT predict_array('tie', 0), predict_class('tie', 0), predict_margin('tie', 0);

-- The leaves of DART are multiplied by the weights of its trees.
\set content `tar xJOf :'directory'/sql/../../../extension/gbtrees/tests/golden/xgboost.tar.xz xgboost/3.4.1/dart.json | base64 -w0`
SELECT load_model('dart', decode(:'content', 'base64'));
SELECT predict_margin('dart', NULL::real[]), predict_leaf('dart', ARRAY[0, 0, 0, 0, 0, 0]), predict('dart', ARRAY[0, 0, 0, 0, 0, 0]);

-- multi:softmax: the value is the class itself; the margins stay.
SELECT length, predict('flower_class', length, 1), predict_array('flower_class', length, 1),
       predict_margin('flower_class', length, 1), predict_class('flower_class', length, 1)
  FROM (VALUES (1), (3), (5)) AS v (length);

-- Several targets.
SELECT predict_array('targets', 1, 0), predict_margin('targets', 9, 0), predict_leaf('targets', 9, 0);
SELECT predict('targets', 1, 0);
SELECT predict_class('targets', 1, 0);

-- All take the same forms.
SELECT predict_class('flower', r), predict_class('flower', to_jsonb(r)), predict_class('flower', ARRAY[r.length, r.width]),
       predict_class('flower', VARIADIC ARRAY[r.length, r.width])
  FROM (SELECT 3.5 AS length, 1.0 AS width) AS r;
SELECT predict_leaf('price', r), predict_margin('price', to_jsonb(r)), predict_array('price', ARRAY[r.area, r.rooms, r.age])
  FROM (SELECT 60 AS area, 4 AS rooms, 1 AS age) AS r;

-- Results have their declared types: arrays with one dimension that starts at 1.
SELECT pg_typeof(a), array_dims(a), a[1], array_ndims(a), a || 1::real, unnest(a)
  FROM (SELECT predict_array('targets', 1, 0)) AS v (a);
SELECT pg_typeof(a), array_dims(a), a = ARRAY[2, 2], array_to_string(a, ',') FROM (SELECT predict_leaf('targets', 9, 0)) AS v (a);
SELECT pg_typeof(predict('price', 1, 1, 1)), pg_typeof(predict_class('flower', 1, 1)), pg_typeof(predict_margin('price', 1, 1, 1));
CREATE TABLE kept AS SELECT predict_array('flower', x, 1) AS p, predict_class('flower', x, 1) AS c, predict_leaf('flower', x, 1) AS l
  FROM generate_series(1, 5) AS x;
SELECT c, count(*), min(p[1]), max(l[2]) FROM kept GROUP BY c ORDER BY c;
-- Two functions in one statement do not disturb each other, nor two models in one function.
SELECT x, predict('price', x, 1, 1) + predict('price_doubled', x, 1, 1) AS both, predict_class('flower', x, 1), predict_class('churn', x, 1)
  FROM (VALUES (1), (55), (3)) AS v (x);
