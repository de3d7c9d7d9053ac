-- Declarations for the planner: stable, parallel safe, and a cost that grows with the model.
CREATE TABLE homes (id int, area real, rooms int, age real);
INSERT INTO homes SELECT i, i % 100, i % 7, i % 9 FROM generate_series(1, 5000) AS i;
ANALYZE homes;

-- Stable: the call is not folded into its value, and no index can be built on it.
EXPLAIN (VERBOSE, COSTS OFF) SELECT predict('price', 60, 4, 1);
\set VERBOSITY sqlstate
CREATE INDEX ON homes (predict('price', area, rooms, age));
\set VERBOSITY default
CREATE INDEX ON homes (id) WHERE predict('price', area, rooms, age) > 5;
ALTER TABLE homes ADD COLUMN price real GENERATED ALWAYS AS (predict('price', area, rooms, age)) STORED;
-- But one whose arguments are constants runs once for an index scan, as a stable function may.
CREATE INDEX homes_area ON homes (area);
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM homes WHERE area = predict('price', 60, 4, 1);
SELECT count(*) FROM homes WHERE area = predict('price', 60, 2, 1) - 1;
RESET enable_seqscan;

-- Cost.
CREATE VIEW costs AS
    SELECT cost_of('SELECT area FROM homes') AS scan, cost_of('SELECT predict(''nameless'', area, rooms) FROM homes') AS two_stumps,
           cost_of('SELECT predict(''price'', area, rooms, age) FROM homes') AS two_stumps_of_three,
           cost_of('SELECT predict(''large'', area, rooms, age) FROM homes') AS forty_trees,
           cost_of('SELECT predict(''nosuch'', area, rooms, age) FROM homes') AS unknown,
           cost_of('SELECT predict(v.m, area, rooms, age) FROM homes, (VALUES (''large'')) AS v (m)') AS named_by_value;
SELECT scan < two_stumps AS a, two_stumps < two_stumps_of_three AS b, two_stumps_of_three < forty_trees AS c, unknown > scan AS d FROM costs;
-- The same for each of the five functions.
SELECT f, cost_of(format('SELECT %s(''large'', area, rooms, age) FROM homes', f)) > cost_of(format('SELECT %s(''price'', area, rooms, age) FROM homes', f)) AS grows
  FROM unnest(ARRAY['predict', 'predict_array', 'predict_class', 'predict_margin', 'predict_leaf']) AS f;
-- So that cheap conditions are tested first, whichever is written first.
EXPLAIN (COSTS OFF) SELECT id FROM homes WHERE predict('large', area, rooms, age) > 5 AND age = 3;
EXPLAIN (COSTS OFF) SELECT id FROM homes WHERE predict('large', area, rooms, age) > 5 AND predict('price', area, rooms, age) > 5;
-- The planner says nothing of errors: they come when the statement runs, if it runs.
EXPLAIN (COSTS OFF) SELECT predict('nosuch', area) FROM homes;
SELECT predict('nosuch', area) FROM homes WHERE id < 0;
SELECT predict('nosuch', area) FROM homes WHERE id = 1;
SELECT count(*) FROM homes WHERE false AND predict('nosuch', area) > 1;
-- The plan shows nothing of a model to roles that may not use it.
CREATE ROLE regress_planner;
GRANT SELECT ON homes TO regress_planner;
SET ROLE regress_planner;
SELECT cost_of('SELECT predict(''large'', area, rooms, age) FROM homes') = cost_of('SELECT predict(''nosuch'', area, rooms, age) FROM homes') AS nothing_told;
RESET ROLE;
DROP OWNED BY regress_planner;
DROP ROLE regress_planner;

-- Parallel: workers score, and give the same.
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
EXPLAIN (COSTS OFF) SELECT count(*), sum(predict('price', area, rooms, age)) FROM homes;
SELECT count(*), sum(predict('price', area, rooms, age)::float8) FROM homes;
SET max_parallel_workers_per_gather = 0;
SELECT count(*), sum(predict('price', area, rooms, age)::float8) FROM homes;
RESET ALL;

-- One scan of a table can serve several models; a model in a condition and in the output.
SELECT count(*), min(predict('price', area, rooms, age)), max(predict('price_doubled', area, rooms, age)) FROM homes
 WHERE predict('price', area, rooms, age) = 110 AND predict('price_doubled', homes) = 220;
-- Just-in-time compilation does not change anything.
SET jit = on;
SET jit_above_cost = 0;
SELECT sum(predict('price', area, rooms, age)), sum(predict('price', homes)), sum(predict('price', ARRAY[area, rooms, age])) FROM homes;
SET jit = off;
SELECT sum(predict('price', area, rooms, age)), sum(predict('price', homes)), sum(predict('price', ARRAY[area, rooms, age])) FROM homes;

-- A prepared statement gets one plan for all parameters, or is planned for each, as it would be without predictions.
PREPARE by_key AS SELECT id FROM homes WHERE id = $1;
PREPARE by_key_predicted AS SELECT id, predict('large', area, rooms, age) FROM homes WHERE id = $1;
PREPARE by_keys AS SELECT id FROM homes WHERE id = ANY($1::int[]);
PREPARE by_keys_predicted AS SELECT id, predict('large', area, rooms, age) FROM homes WHERE id = ANY($1::int[]);
PREPARE by_range AS SELECT id FROM homes WHERE id BETWEEN $1 AND $1 + 9;
PREPARE by_range_predicted AS SELECT id, predict('large', area, rooms, age) FROM homes WHERE id BETWEEN $1 AND $1 + 9;
CREATE UNIQUE INDEX homes_id ON homes (id);
ANALYZE homes;
DO $$
BEGIN
    FOR i IN 1..10 LOOP
        EXECUTE format('EXECUTE by_key(%1$s); EXECUTE by_key_predicted(%1$s); EXECUTE by_range(%1$s); EXECUTE by_range_predicted(%1$s)', i);
        EXECUTE 'EXECUTE by_keys(''{1,2,3}''); EXECUTE by_keys_predicted(''{1,2,3}'')';
    END LOOP;
END $$;
SELECT name, generic_plans, custom_plans FROM pg_prepared_statements WHERE name LIKE 'by%' ORDER BY name;
