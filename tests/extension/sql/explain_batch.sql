-- Contributions in batches: which plans have them, what they cost, and that nothing but the time differs.
CREATE TABLE homes (id int, area real, rooms int, age real, town text);
INSERT INTO homes SELECT i, i % 100, i % 7, i % 9, 'town ' || i % 5 FROM generate_series(1, 2000) AS i;
INSERT INTO homes (id) SELECT i FROM generate_series(2001, 2010) AS i;
ANALYZE homes;
EXPLAIN (VERBOSE, COSTS OFF) SELECT predict_contribs('large', area, rooms, age) FROM homes;
EXPLAIN (COSTS OFF) SELECT id, predict_contribs('large', homes), predict('large', homes) FROM homes WHERE id > 100;
EXPLAIN (COSTS OFF) SELECT mean_abs_contribs(predict_contribs('large', homes)) FROM homes;
-- Below the aggregates of metrics, too.
EXPLAIN (COSTS OFF) SELECT town, auc(predict('large', area, rooms, age), rooms > 3), rmse(predict('large', area, rooms, age), age) FROM homes GROUP BY town;
EXPLAIN (COSTS OFF) SELECT id FROM homes WHERE (predict_contribs('large', homes))[1] > 1;
EXPLAIN (COSTS OFF) SELECT predict_interactions('large', homes) FROM homes;
-- And the rows of a set.
EXPLAIN (COSTS OFF) SELECT e.feature FROM homes AS h, explain_prediction('large', h) AS e;

SELECT with_and_without('SELECT id, predict_contribs(''large'', area, rooms, age) FROM homes');
SELECT with_and_without('SELECT id, predict_contribs(''large'', homes), predict(''large'', homes) FROM homes');
SELECT with_and_without('SELECT id, predict_contribs(''flower'', area, age), predict_contribs(''targets'', area, age) FROM homes');
SELECT with_and_without('SELECT id, predict_contribs(''large'', to_jsonb(homes)), predict_contribs(''large'', ARRAY[area, rooms, age]) FROM homes');
SELECT with_and_without('SELECT id, predict_interactions(''large'', area, rooms, age), predict_interactions(''targets'', area, age) FROM homes');
SELECT with_and_without('SELECT id FROM homes WHERE (predict_contribs(''large'', area, rooms, age))[1] > 0.1');
SELECT with_and_without('SELECT town, mean_abs_contribs(predict_contribs(''large'', homes)) FROM homes GROUP BY town ORDER BY town');
SELECT with_and_without('SELECT id, predict_contribs(''large'', area, rooms, age) FROM homes LIMIT ' || n) FROM unnest(ARRAY[1, 64, 74, 1999, 3000]) AS n;
SELECT with_and_without('SELECT id, predict_contribs(''large'', area, rooms, age), predict_interactions(''large'', homes) FROM homes');
-- Batches that are small because memory is.
SET work_mem = '64kB';
SELECT with_and_without('SELECT id, predict_contribs(''flower'', area, age), predict_interactions(''large'', homes) FROM homes');
RESET work_mem;
-- An error comes with its row.
CREATE TABLE fines (id int, day text, zone int, hours real);
INSERT INTO fines SELECT i, CASE WHEN i = 300 THEN 'doomsday' WHEN i % 2 = 0 THEN 'mon' ELSE 'sat' END, 10, i % 9 FROM generate_series(1, 500) AS i;
ANALYZE fines;
SELECT count(*), count(c) FROM (SELECT id, predict_contribs('tickets', day, zone, hours) AS c FROM fines LIMIT 299) AS s;
SELECT count(*), count(c) FROM (SELECT id, predict_contribs('tickets', day, zone, hours) AS c FROM fines LIMIT 300) AS s;
SELECT predict_contribs('large', zone, hours) FROM fines;

-- Cost: more than predicting, and more for a larger model.
SELECT cost_of('SELECT predict(''large'', homes) FROM homes') < cost_of('SELECT predict_contribs(''large'', homes) FROM homes') AS contributions,
       cost_of('SELECT predict_contribs(''large'', homes) FROM homes') < cost_of('SELECT predict_interactions(''large'', homes) FROM homes') AS interactions,
       cost_of('SELECT predict_contribs(''price'', homes) FROM homes') < cost_of('SELECT predict_contribs(''large'', homes) FROM homes') AS model;
EXPLAIN (COSTS OFF) SELECT id FROM homes WHERE (predict_contribs('price', homes))[1] > 5 AND predict('price', homes) > 5 AND age = 3;
-- Parallel workers, which put together means.
CREATE TABLE means AS SELECT mean_abs_contribs(predict_contribs('large', homes)) AS m FROM homes;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
EXPLAIN (COSTS OFF) SELECT mean_abs_contribs(predict_contribs('large', homes)) FROM homes;
SELECT (SELECT mean_abs_contribs(predict_contribs('large', homes)) FROM homes) = m AS same FROM means;
SELECT (SELECT mean_abs_contribs(predict_contribs('large', homes)) FROM homes WHERE id < 0) AS none;
SELECT town, mean_abs_contribs(predict_contribs('price', homes)) FROM homes GROUP BY town ORDER BY town;
