-- The results of the functions, for each kind of model.
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

-- predict_batch: the predictions of an array's rows, which are those of predict, one by one.
SELECT predict_batch('price', '{{60,4,1},{40,2,9},{60,2,1}}'::real[]), predict_batch('price', ARRAY[[60, 4, 1], [40, 2, 9]]);
-- A row per prediction: one row, none, no array, no model.
SELECT predict_batch('price', ARRAY[[60, 4, 1]]), predict_batch('price', '{}'::real[]), predict_batch('price', NULL::real[]),
       predict_batch(NULL, ARRAY[[60, 4, 1]]), pg_typeof(predict_batch('price', ARRAY[[60, 4, 1]]));
-- NULL and NaN are missing, whatever the type of the numbers.
SELECT predict_batch('gaps', '{{4,NULL},{NULL,4},{NaN,4},{4,4},{NULL,NULL}}'::real[]) AS reals,
       predict_batch('gaps', '{{4,NULL},{NULL,4},{NaN,4},{4,4},{NULL,NULL}}'::float8[]) AS doubles,
       predict_batch('gaps', '{{4,NULL},{NULL,4},{NaN,4},{4,4},{NULL,NULL}}'::numeric[]) AS numerics,
       predict_batch('gaps', '{{4,NULL},{NULL,4},{NULL,4},{4,4},{NULL,NULL}}'::int[]) AS integers;
SELECT predict_batch('codes', '{{1,9},{1,8},{2,9},{NULL,NULL}}'::real[]), predict_batch('codes', '{{1,9},{1,8},{2,9},{NULL,NULL}}'::bigint[]);
CREATE DOMAIN matrix AS real[];
SELECT predict_batch('price', '{{60,4,1}}'::matrix), predict_batch('price', '[0:1][5:7]={{60,4,1},{40,2,9}}'::real[]);
-- A model with several values per row gives a row of them for each; one that gives the class itself, the class.
SELECT predict_batch('targets', ARRAY[[1, 0], [9, 0]]), predict_batch('flower_class', ARRAY[[1, 1], [3, 1], [5, 1]]);
SELECT (predict_batch('flower', ARRAY[[1, 1], [3, 1]]))[2:2] = ARRAY[predict_array('flower', 3, 1)] AS same,
       array_dims(predict_batch('flower', ARRAY[[1, 1], [3, 1]]));
-- Every element type, in place or read one by one, and more rows than are evaluated at once.
CREATE TABLE points AS
    SELECT i AS id, ARRAY[i % 101, i % 7, CASE WHEN i % 5 > 0 THEN i % 9 END]::real[] AS features FROM generate_series(1, 1500) AS i;
WITH expected AS (SELECT array_agg(predict('large', features) ORDER BY id) AS e, array_agg(features ORDER BY id) AS m FROM points),
     whole AS (SELECT array_agg(predict('large', ARRAY[i % 101, i % 7, i % 9]::real[]) ORDER BY i) AS e,
                      array_agg(ARRAY[i % 101, i % 7, i % 9]::real[] ORDER BY i) AS m FROM generate_series(1, 1500) AS i)
SELECT predict_batch('large', m) = e AS reals, predict_batch('large', m::float8[]) = e AS doubles, predict_batch('large', m::numeric[]) = e AS numerics
  FROM expected UNION ALL SELECT predict_batch('large', m) = e, predict_batch('large', m::float8[]) = e, predict_batch('large', m::numeric[]) = e FROM whole;
-- A packed row of a table, compressed or not, and which of its items are the best.
CREATE TABLE packed AS SELECT id % 3 AS category, array_agg(id ORDER BY id) AS ids, array_agg(features ORDER BY id) AS features FROM points GROUP BY 1;
SELECT r.id, r.p = predict('large', points.features) AS same
  FROM packed, unnest(ids, predict_batch('large', packed.features)) AS r (id, p) JOIN points USING (id)
 WHERE category = 1 ORDER BY r.p DESC, r.id LIMIT 3;
PREPARE ranked(real[]) AS SELECT predict_batch('price', $1);
EXECUTE ranked('{{60,4,1}}');
EXECUTE ranked('{{60,4,1},{40,2,9}}');
SELECT load_model('price', file_of('price_doubled'));
EXECUTE ranked('{{60,4,1}}');
SELECT predict_batch('price@1', ARRAY[[60, 4, 1]]);

-- Refused calls.
SELECT predict_batch('price', ARRAY[60, 4, 1]);
SELECT predict_batch('price', ARRAY[[[60, 4, 1]]]);
SELECT predict_batch('price', ARRAY[[60, 4], [40, 2]]);
SELECT predict_batch('nameless', ARRAY[[60, 4, 1]]);
SELECT predict_batch('price', '{{60,4,1}}');
SELECT predict_batch('price', '{{a,b,c}}'::text[]);
SELECT predict_batch('price', 60);
SELECT predict_batch('price', p) FROM points AS p LIMIT 1;
SELECT predict_batch('nosuch', ARRAY[[60, 4, 1]]);
SELECT predict_batch('nosuch', NULL::real[]);
\set VERBOSITY sqlstate
SELECT predict_batch('price', ARRAY[60, 4, 1]);
SELECT predict_batch('price', ARRAY[[60, 4]]);
SELECT predict_batch('price', 60);
SELECT predict_batch('nosuch', ARRAY[[60, 4, 1]]);
CREATE ROLE regress_no_batch;
SET ROLE regress_no_batch;
SELECT predict_batch('price', ARRAY[[60, 4, 1]]);
RESET ROLE;
DROP ROLE regress_no_batch;
\set VERBOSITY default

-- Counted as a batch.
SET pgboost.track_predictions = on;
SELECT pg_stat_pgboost_reset();
SELECT predict_batch('price', '{{60,4,1},{40,NULL,9},{60,2,1}}'::real[]);
SELECT predict_batch('price', '{{60,4,1}}'::real[]);
SELECT name, version, calls, rows, batches, missing_rows FROM pg_stat_pgboost WHERE name = 'price';
RESET pgboost.track_predictions;
-- The planner is told of the rows that it can see, and takes ten for others. A call is in no batch with others.
WITH c AS (SELECT cost_of('SELECT predict_batch(''large'', ''{{1,2,3}}''::real[])') AS one,
                  cost_of('SELECT predict_batch(''large'', ''{{1,2,3},{1,2,3},{1,2,3}}''::real[])') AS three,
                  cost_of('SELECT predict_batch(''large'', ARRAY[[1,2,3],[1,2,random()]])') AS two,
                  cost_of('SELECT predict_batch(''price'', features) FROM packed') AS small,
                  cost_of('SELECT predict_batch(''large'', features) FROM packed') AS large)
SELECT three / one BETWEEN 2 AND 3 AS threefold, two BETWEEN one AND three AS between, large > small AS grows FROM c;
EXPLAIN (COSTS OFF) SELECT category, predict_batch('large', features) FROM packed;
