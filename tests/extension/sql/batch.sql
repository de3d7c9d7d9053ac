-- Predictions and contributions in batches: which plans have them, what they cost, and that nothing but the time differs.
CREATE TABLE homes (id int, area real, rooms int, age real, town text, price numeric);
INSERT INTO homes SELECT i, i % 100, i % 7, i % 9, 'town ' || i % 5, i % 50 FROM generate_series(1, 2000) AS i;
CREATE INDEX homes_id ON homes (id);
CREATE TABLE towns (town text, tax real);
INSERT INTO towns SELECT 'town ' || i, i FROM generate_series(0, 3) AS i;
ANALYZE homes, towns;

-- A call in the output, by itself, among columns, in an expression, twice, or several.
EXPLAIN (VERBOSE, COSTS OFF) SELECT predict('price', area, rooms, age) FROM homes;
SHOW pgboost.enable_batch;
EXPLAIN (COSTS OFF) SELECT id, predict('price', area, rooms, age) FROM homes WHERE id > 100 AND town = 'town 1' AND price < 40;
EXPLAIN (VERBOSE, COSTS OFF) SELECT 1 + predict('price', area, rooms, 1) / id, predict('price', area, rooms, 1) FROM homes;
EXPLAIN (COSTS OFF) SELECT predict('price', area, rooms, age), predict_class('flower', area, age), predict_array('churn', area, rooms), predict_margin('price', homes) FROM homes;
EXPLAIN (COSTS OFF) SELECT predict('price', homes), predict('price', ARRAY[area, rooms, age]), predict('price@1', VARIADIC ARRAY[area, rooms, age]::real[]) FROM homes;
-- First in an expression that evaluates some of its parts.
EXPLAIN (VERBOSE, COSTS OFF) SELECT CASE WHEN predict('price', area, rooms, age) > 50 THEN 'dear' ELSE town END FROM homes;
EXPLAIN (COSTS OFF) SELECT CASE predict_class('flower', area, age) WHEN 'setosa' THEN 1 END, coalesce(predict('price', area, rooms, age), 0) FROM homes;
EXPLAIN (COSTS OFF) SELECT predict('price', area, rooms, age) > 50 AND 1 / id > 0 FROM homes;
-- In a filter: the conditions before it stay with the scan, those after it go with it.
EXPLAIN (VERBOSE, COSTS OFF) SELECT id FROM homes WHERE predict('price', area, rooms, age) > 105 AND town = 'town 1';
EXPLAIN (VERBOSE, COSTS OFF) SELECT id, predict('price', area, rooms, age) FROM homes WHERE predict('price', area, rooms, age) > 105;
EXPLAIN (COSTS OFF) SELECT id, p FROM (SELECT id, predict('price', area, rooms, age) AS p FROM homes) AS s WHERE p > 105 AND p < 200;
EXPLAIN (COSTS OFF) SELECT count(*), avg(predict('price', area, rooms, age)) FROM homes WHERE predict('price', area, rooms, age) > 105 AND id > 3;
EXPLAIN (COSTS OFF) SELECT id FROM homes WHERE predict('price', homes) > 105 AND id BETWEEN 100 AND 900 ORDER BY predict('price', homes), id;
EXPLAIN (COSTS OFF) SELECT id FROM homes WHERE 1 / (predict('price', area, rooms, age) - 3) > 0 OR town = 'town 1';
-- Its parts are read from joins, indexes, subqueries, sorts.
EXPLAIN (COSTS OFF) SELECT id, predict('price', area, tax, age) FROM homes JOIN towns USING (town);
EXPLAIN (COSTS OFF) SELECT id, predict('price', area, tax, age) FROM homes LEFT JOIN towns USING (town);
EXPLAIN (COSTS OFF) SELECT id, predict('price', area, rooms, age) FROM homes WHERE id BETWEEN 100 AND 200 ORDER BY id LIMIT 90;
EXPLAIN (COSTS OFF) SELECT id FROM homes ORDER BY predict('price', area, rooms, age) DESC, id LIMIT 5;
EXPLAIN (COSTS OFF) SELECT predict('price', a, r, 1) FROM (SELECT area AS a, rooms AS r FROM homes ORDER BY id OFFSET 10) AS s;
EXPLAIN (COSTS OFF) INSERT INTO towns SELECT town, predict('price', area, rooms, age) FROM homes;
EXPLAIN (COSTS OFF) CREATE TABLE prices AS SELECT id, predict('price', area, rooms, age) FROM homes;
EXPLAIN (COSTS OFF) UPDATE homes SET age = predict('price', area, rooms, age);
EXPLAIN (COSTS OFF) DELETE FROM homes WHERE predict('price', area, rooms, age) > 105;
EXPLAIN (COSTS OFF) SELECT predict('price', area, rooms, age) FROM homes UNION ALL SELECT tax FROM towns;
-- In aggregates, and in what rows are grouped by.
EXPLAIN (VERBOSE, COSTS OFF) SELECT avg(predict('price', area, rooms, age)), count(*) FROM homes;
EXPLAIN (COSTS OFF) SELECT town, max(predict('price', area, rooms, age)), sum(round(predict('price_doubled', homes))) FROM homes GROUP BY town HAVING min(predict('price', area, rooms, age)) < 5;
EXPLAIN (COSTS OFF) SELECT predict('price', area, rooms, age), count(*) FROM homes GROUP BY 1;
EXPLAIN (COSTS OFF) SELECT DISTINCT predict('price', area, rooms, age) FROM homes;

-- Also a condition that most rows need, but not one that few need, that has effects or a plan, nor one of few rows.
EXPLAIN (COSTS OFF) SELECT id FROM homes WHERE town = 'town 1' OR predict('price', area, rooms, age) > 105;
EXPLAIN (COSTS OFF) SELECT id FROM homes WHERE id > 5 OR predict('price', area, rooms, age) > 105;
EXPLAIN (COSTS OFF) SELECT id FROM homes WHERE predict('price', area, rooms, age) > random();
-- PostgreSQL 19 names a SubPlan by its purpose.
CREATE FUNCTION with_subplans(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
        RETURN NEXT replace(line, 'SubPlan expr_', 'SubPlan ');
    END LOOP;
END $$;
SELECT with_subplans($$SELECT id FROM homes WHERE predict('price', area, rooms, age) > (SELECT max(tax) FROM towns WHERE towns.town = homes.town)$$);
EXPLAIN (COSTS OFF) SELECT id FROM homes WHERE predict('price', area, rooms, age) > 105 AND id = 77;
EXPLAIN (COSTS OFF) SELECT id FROM homes WHERE predict('price', area, rooms, age) > 105 LIMIT 5;
EXPLAIN (COSTS OFF) SELECT id FROM homes WHERE predict('price', 60, 2, 1) > 105;
-- Arguments, conditions and inputs that can fail: below who asks for all rows.
EXPLAIN (COSTS OFF) SELECT id FROM homes WHERE predict('price', area, rooms, age) > 105 AND 100 / id > 5;
EXPLAIN (COSTS OFF) SELECT predict('price', area, rooms, age), generate_series(1, 2) FROM homes;
EXPLAIN (COSTS OFF) SELECT predict('price', area, rooms, age) FROM homes WHERE 100 / id > 5;
EXPLAIN (COSTS OFF) SELECT predict('price', area, 100 / rooms, age) FROM homes;
SELECT with_subplans($$SELECT predict('price', area, rooms, (SELECT max(tax) FROM towns WHERE towns.town = homes.town)) FROM homes$$);
EXPLAIN (COSTS OFF) SELECT area FROM homes WHERE 100 / id > 5 AND predict('price', area, rooms, age) > 105 LIMIT 500;
EXPLAIN (VERBOSE, COSTS OFF) SELECT predict('price', area, 100 / rooms, age) FROM homes LIMIT 500;
-- In a join's filter, in HAVING, of aggregates, of window functions, and in the arguments of each.
EXPLAIN (COSTS OFF) SELECT id FROM homes JOIN towns USING (town) WHERE predict('price', area, tax, age) > 105;
EXPLAIN (COSTS OFF) SELECT id FROM homes LEFT JOIN towns USING (town) WHERE predict('price', area, tax, age) > 105;
EXPLAIN (COSTS OFF) SELECT id FROM homes LEFT JOIN towns ON homes.town = towns.town AND predict('price', area, tax, age) > 105;
EXPLAIN (COSTS OFF) SELECT id FROM homes JOIN towns USING (town) WHERE predict('price', area, rooms, age) > 105;
EXPLAIN (VERBOSE, COSTS OFF) SELECT id % 500, predict('price', avg(area), count(*), 1) FROM homes GROUP BY 1 HAVING predict('price', avg(area), count(*), 1) > 105;
-- A plan without what its releases of PostgreSQL write differently: windows' names and those of InitPlans.
CREATE FUNCTION plan(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
        IF line !~ '^ *Window: ' THEN RETURN NEXT regexp_replace(line, 'InitPlan .*', 'InitPlan'); END IF;
    END LOOP;
END $$;
SELECT plan($$SELECT predict('price', lag(area) OVER (ORDER BY id), rooms, 1) FROM homes$$);
SELECT plan($$SELECT avg(predict('price', area, rooms, age)) OVER (PARTITION BY town) FROM homes$$);
EXPLAIN (VERBOSE, COSTS OFF) SELECT unnest(predict_array('price', area, rooms, age)) FROM homes;
EXPLAIN (COSTS OFF) SELECT (predict_array('price', area, rooms, age))[1], (predict_array('price', area, rooms, age))[1:1], greatest(predict('price', area, rooms, age), 0) FROM homes;
EXPLAIN (COSTS OFF) SELECT predict('price', to_jsonb(s)), predict('price', s) FROM (SELECT area * 2 AS area, rooms, age FROM homes) AS s;
EXPLAIN (COSTS OFF) WITH s AS MATERIALIZED (SELECT id / 2 AS half, predict('price', area, 100 / (rooms + 1), age) AS p FROM homes) SELECT sum(p) FROM s WHERE predict('price', half, 1, 1) > 105;
-- Who looks for one row reads one at a time. Not in a statement with volatile functions.
SELECT plan($$SELECT EXISTS (SELECT FROM homes WHERE 100 / (id + 1) > 5 AND predict('price', area, rooms, age) > 105)$$);
EXPLAIN (COSTS OFF) SELECT predict('price', area, 100 / rooms, age) FROM (SELECT *, random() AS r FROM homes OFFSET 0) AS s WHERE r < 0.5;
-- Where most rows need the call, but not where few do, or where it may be evaluated again.
EXPLAIN (COSTS OFF) SELECT CASE WHEN id > 5 THEN predict('price', area, rooms, age) END FROM homes;
EXPLAIN (COSTS OFF) SELECT coalesce(area, predict('price', area, rooms, age)), id > 5 AND predict('price', area, rooms, age) > 5 FROM homes;
EXPLAIN (COSTS OFF) SELECT sum(predict('price', area, rooms, age)) FILTER (WHERE id > 5) FROM homes;
EXPLAIN (COSTS OFF) SELECT CASE WHEN id = 5 THEN predict('price', area, rooms, age) END FROM homes;
EXPLAIN (COSTS OFF) SELECT coalesce(area, predict('price', area, rooms, age)), id < 5 AND predict('price', area, rooms, age) > 5 FROM homes;
EXPLAIN (COSTS OFF) SELECT sum(predict('price', area, rooms, age)) FILTER (WHERE id < 5) FROM homes;

-- FILTER's own condition is evaluated for every row.
EXPLAIN (COSTS OFF) SELECT count(*) FILTER (WHERE predict('price', area, rooms, age) > 5) FROM homes;
EXPLAIN (COSTS OFF) SELECT predict('price', area, rooms, age) FROM homes FOR UPDATE;
EXPLAIN (COSTS OFF) UPDATE homes SET age = predict('price', area, tax, age) FROM towns WHERE homes.town = towns.town;
EXPLAIN (COSTS OFF) DELETE FROM homes USING towns WHERE homes.town = towns.town RETURNING predict('price', area, rooms, age);
EXPLAIN (COSTS OFF) SELECT predict('price', area, rooms, age), random() FROM homes;
EXPLAIN (COSTS OFF) SELECT predict('price', area, rooms, age) FROM homes WHERE random() < 0.5;
EXPLAIN (COSTS OFF) SELECT predict(town, area, rooms, age) FROM homes;
EXPLAIN (COSTS OFF) SELECT predict(NULL, area, rooms, age) FROM homes;
EXPLAIN (COSTS OFF) SELECT predict('price', area, rooms, age) FROM homes WHERE id = 5;
EXPLAIN (COSTS OFF) SELECT predict('price', area, rooms, age) FROM homes LIMIT 50;
EXPLAIN (COSTS OFF) SELECT predict('price', area, rooms, age) FROM (SELECT * FROM homes ORDER BY town OFFSET 0) AS h LIMIT 100;
EXPLAIN (COSTS OFF) SELECT predict_leaf('price', area, rooms, age) FROM homes;
SET pgboost.enable_batch = off;
EXPLAIN (COSTS OFF) SELECT predict('price', area, rooms, age) FROM homes;
RESET pgboost.enable_batch;
-- A model that does not exist, or may not be looked at, has no version.
CREATE ROLE regress_batch;
GRANT SELECT ON homes TO regress_batch;
EXPLAIN (COSTS OFF) SELECT predict('nosuch', area) FROM homes;
SET ROLE regress_batch;
EXPLAIN (COSTS OFF) SELECT predict('price', area, rooms, age) FROM homes;
SELECT count(predict('price', area, rooms, age)) FROM homes;
RESET ROLE;

-- The same rows with and without.
SELECT with_and_without('SELECT id, predict(''price'', area, rooms, age) FROM homes');
SELECT with_and_without('SELECT id, town, price, predict(''price'', homes), predict_class(''flower'', area, age), predict_array(''targets'', area, age) FROM homes');
SELECT with_and_without('SELECT id, predict(''price'', area, tax, age), tax FROM homes LEFT JOIN towns USING (town)');
SELECT with_and_without('SELECT homes, predict(''price'', homes) || town FROM homes WHERE id > 1000');
SELECT with_and_without('SELECT town, avg(predict(''price'', area, rooms, age)), max(predict_class(''flower'', area, age)) FROM homes GROUP BY town ORDER BY town');
SELECT with_and_without('SELECT id, predict(''price'', area, rooms, age) FROM homes ORDER BY 2 DESC, 1 LIMIT 700');
SELECT with_and_without('SELECT id, predict(''price'', area, rooms, age) FROM homes LIMIT ' || n) FROM unnest(ARRAY[0, 1, 10, 63, 64, 72, 73, 74, 584, 585, 586, 1999, 3000]) AS n;
SELECT with_and_without('SELECT id, predict(''price'', area, rooms, age) FROM homes OFFSET 1990');
SELECT with_and_without('SELECT id FROM homes ORDER BY predict(''price'', area, rooms, age) DESC, id LIMIT 10');
SELECT with_and_without('SELECT id, homes FROM homes WHERE predict(''price'', area, rooms, age) > ' || n || ' AND town <> ''town 2''') FROM unnest(ARRAY[-1, 50, 105, 1000]) AS n;
SELECT with_and_without('SELECT id, predict(''price'', area, rooms, age), predict_class(''flower'', area, age) FROM homes WHERE predict(''price'', area, rooms, age) > 105 AND predict_class(''flower'', area, age) = ''setosa''');
SELECT with_and_without('SELECT id, predict(''price'', area, rooms, age) FROM homes WHERE predict(''price'', area, rooms, age) > 105 LIMIT ' || n) FROM unnest(ARRAY[64, 200, 700, 3000]) AS n;
SELECT with_and_without('SELECT id, CASE WHEN predict(''price'', area, rooms, age) > 50 THEN predict_class(''flower'', area, age) ELSE town END FROM homes');
SELECT with_and_without('SELECT count(*) FILTER (WHERE predict(''price'', area, rooms, age) > 50), sum(id) FILTER (WHERE predict(''price'', area, rooms, age) > 50) FROM homes');
SELECT with_and_without('SELECT predict(''price'', area, rooms, age) FROM homes UNION ALL SELECT tax FROM towns');
SELECT with_and_without('SELECT l.town, p FROM towns AS l, LATERAL (SELECT predict(''price'', area, tax, age) AS p FROM homes WHERE homes.town = l.town OFFSET 3) AS s');

-- INSERT ... SELECT, CREATE TABLE AS, and a subquery for each row.
CREATE TABLE prices AS SELECT id, predict('price', area, rooms, age) AS price FROM homes;
INSERT INTO prices SELECT id, predict('price', area, rooms, age) FROM homes ON CONFLICT DO NOTHING;
SELECT count(*), sum(price) FROM prices;
SELECT town, (SELECT avg(predict('price', area, tax, age)) FROM homes WHERE homes.town = towns.town) FROM towns ORDER BY town;

SELECT with_subplans($$SELECT town, (SELECT avg(predict('price', area, tax, age)) FROM homes WHERE homes.town = towns.town) FROM towns$$);
-- A trigger that takes each row apart and changes it.
CREATE FUNCTION dearer() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.price := NEW.price + 1;
    RETURN NEW;
END $$;
CREATE TABLE named_prices (id int, town text, price real, class text);
CREATE TRIGGER dearer BEFORE INSERT ON named_prices FOR EACH ROW EXECUTE FUNCTION dearer();
INSERT INTO named_prices SELECT id, town, predict('price', area, rooms, age), predict_class('flower', area, age) FROM homes;
SELECT count(*), sum(price), count(DISTINCT town), min(class), max(class) FROM named_prices;
SELECT count(*) FROM named_prices JOIN homes USING (id, town) WHERE named_prices.price <> predict('price', area, rooms, age) + 1 OR class <> predict_class('flower', area, age);

-- Stored features: arrays with and without NULLs, objects, rows, enums, domains, numerics, and values kept out of line.
CREATE DOMAIN metres AS numeric CHECK (VALUE >= 0);
CREATE TYPE weekday AS ENUM ('mon', 'sat');
CREATE TABLE forms AS SELECT id, CASE WHEN id % 10 > 0 THEN ARRAY[nullif(area, 7), rooms, age]::real[] END AS a, to_jsonb(homes) AS j,
       CASE WHEN id % 11 > 0 THEN homes END AS h, area::metres AS m, ('3.' || repeat('0123456789', id))::numeric AS n,
       CASE WHEN id % 3 = 0 THEN 'mon' WHEN id % 3 = 1 THEN 'sat' END::weekday AS d FROM homes WHERE id <= 600;
ANALYZE forms;
SELECT with_and_without('SELECT id, predict(''price'', a), predict(''price'', j), predict(''price'', h), predict(''price'', m, n, id), predict(''tickets'', d, 10, m) FROM forms');
SELECT with_and_without('SELECT n, j, h, a, d, predict(''price'', n, m, id) FROM forms');

-- An error comes with its row, and not before.
CREATE TABLE fines (id int, day text, zone int, hours real);
INSERT INTO fines SELECT i, CASE WHEN i % 300 = 0 THEN 'doomsday' WHEN i % 2 = 0 THEN 'mon' ELSE 'sat' END, 10, i % 9 FROM generate_series(1, 2000) AS i;
ANALYZE fines;
EXPLAIN (COSTS OFF) SELECT id, predict('tickets', day, zone, hours) FROM fines;
SELECT count(*), sum(p) FROM (SELECT id, predict('tickets', day, zone, hours) AS p FROM fines LIMIT 299) AS s;
SELECT count(*), sum(p) FROM (SELECT id, predict('tickets', day, zone, hours) AS p FROM fines LIMIT 300) AS s;
SELECT avg(predict('tickets', day, zone, hours)) FROM fines;
SELECT id, 1 / (id - 5), predict('tickets', day, zone, hours) FROM fines WHERE id < 600 LIMIT 100;
SELECT id, predict('tickets', day, zone, hours), 1 / (id - 300) FROM fines WHERE id >= 290 LIMIT 200;
SELECT id, 1 / (id - 300), predict('tickets', day, zone, hours) FROM fines WHERE id >= 290 LIMIT 200;
-- In a filter, too: before its row, and for no row that a condition before it removes.
EXPLAIN (COSTS OFF) SELECT id FROM fines WHERE predict('tickets', day, zone, hours) > 2;
SELECT count(*) FROM (SELECT id FROM fines WHERE predict('tickets', day, zone, hours) >= 0 LIMIT 299) AS s;
SELECT count(*) FROM (SELECT id FROM fines WHERE predict('tickets', day, zone, hours) >= 0 LIMIT 300) AS s;
SELECT count(*) FROM fines WHERE predict('tickets', day, zone, hours) > 2;
SELECT count(*) FROM fines WHERE predict('tickets', day, zone, hours) > 2 AND day <> 'doomsday';
SELECT count(*) FROM fines WHERE 1 / (predict('tickets', day, zone, hours) - 4) > 0 AND day <> 'doomsday';
SELECT count(*) FROM fines WHERE predict('tickets', day, zone, hours) > 100 AND predict('tickets', 'doomsday', zone, hours) > 2 AND day = 'mon';
SELECT count(*) FROM fines WHERE id < 1000 AND CASE WHEN day <> 'doomsday' THEN predict('tickets', day, zone, hours) > 2 END;
SELECT predict('tickets', zone, hours) FROM fines LIMIT 100;
SELECT predict('flower', id, hours) FROM fines LIMIT 100;
BEGIN;
DECLARE c CURSOR FOR SELECT id, predict('tickets', day, zone, hours) FROM fines WHERE id > 296;
FETCH 2 FROM c;
FETCH 1 FROM c;
SAVEPOINT s;
FETCH 1 FROM c;
ROLLBACK;
SET pgboost.unknown_category = missing;
SELECT with_and_without('SELECT id, predict(''tickets'', day, zone, hours) FROM fines');
-- A setting that changes while a cursor is open counts from the next row.
BEGIN;
DECLARE c CURSOR FOR SELECT id, predict('tickets', day, zone, hours) FROM fines WHERE id > 286;
FETCH 12 FROM c;
SET pgboost.unknown_category = error;
FETCH 1 FROM c;
FETCH 1 FROM c;
ROLLBACK;
RESET pgboost.unknown_category;

-- Cursors go back as ever, those with SCROLL and those without.
BEGIN;
DECLARE c CURSOR FOR SELECT id, predict('price', area, rooms, age) FROM homes WHERE id > 1000;
FETCH 3 FROM c;
FETCH BACKWARD 1 FROM c;
MOVE 97 IN c;
FETCH RELATIVE 0 FROM c;
FETCH BACKWARD 2 FROM c;
FETCH NEXT FROM c;
MOVE ALL IN c;
FETCH PRIOR FROM c;
FETCH PRIOR FROM c;
FETCH NEXT FROM c;
FETCH NEXT FROM c;
FETCH NEXT FROM c;
FETCH PRIOR FROM c;
FETCH FIRST FROM c;
FETCH PRIOR FROM c;
FETCH NEXT FROM c;
FETCH ABSOLUTE 600 FROM c;
FETCH LAST FROM c;
FETCH BACKWARD 3 FROM c;
COMMIT;
BEGIN;
DECLARE c CURSOR FOR SELECT id, predict('price', area, rooms, age) FROM homes WHERE id > 1000 AND predict('price', area, rooms, age) > 105;
FETCH 3 FROM c;
FETCH BACKWARD 1 FROM c;
MOVE 97 IN c;
FETCH NEXT FROM c;
FETCH BACKWARD 2 FROM c;
MOVE ALL IN c;
FETCH PRIOR FROM c;
FETCH NEXT FROM c;
FETCH PRIOR FROM c;
FETCH FIRST FROM c;
FETCH PRIOR FROM c;
COMMIT;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT id, predict('price', area, tax, age) FROM homes JOIN towns USING (town) WHERE id > 1000 ORDER BY id;
FETCH 20 FROM c;
FETCH BACKWARD 2 FROM c;
FETCH LAST FROM c;
COMMIT;
DECLARE c CURSOR WITH HOLD FOR SELECT id, predict('price', area, rooms, age) FROM homes WHERE id > 1000;
SELECT deploy_model('price@' || load_model('price', file_of('price_doubled')));
FETCH 3 FROM c;
CLOSE c;
SELECT sum(predict('price', area, rooms, age)) FROM homes;
SELECT deploy_model('price@1');

-- A prepared statement predicts with the version deployed when it runs, and for the role that runs it.
PREPARE total AS SELECT sum(predict('price', area, rooms, age)) FROM homes;
EXECUTE total;
SELECT deploy_model('price@2');
EXECUTE total;
EXPLAIN (COSTS OFF) EXECUTE total;
SELECT deploy_model('price@1');
EXECUTE total;
SELECT grant_model('price', 'regress_batch');
SET ROLE regress_batch;
EXECUTE total;
RESET ROLE;
SELECT revoke_model('price', 'regress_batch');
SET ROLE regress_batch;
EXECUTE total;
RESET ROLE;
PREPARE dear (int, real) AS SELECT count(predict('price', area, rooms, $2)) FROM homes WHERE id > $1;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE dear (1500, 2);
EXECUTE dear (1500, 2);
EXECUTE dear (1000, NULL);
RESET plan_cache_mode;
-- Within a cursor, a right that is taken away is gone at the next row.
SELECT grant_model('price', 'regress_batch');
BEGIN;
SET LOCAL ROLE regress_batch;
DECLARE c CURSOR FOR SELECT id, predict('price', area, rooms, age) FROM homes;
FETCH 3 FROM c;
RESET ROLE;
SELECT revoke_model('price', 'regress_batch');
SET LOCAL ROLE regress_batch;
FETCH 1 FROM c;
ROLLBACK;
SELECT revoke_model('price', 'regress_batch');
-- The privilege to call the function is checked as well.
REVOKE EXECUTE ON FUNCTION predict(text, "any") FROM PUBLIC;
SELECT grant_model('price', 'regress_batch');
SET ROLE regress_batch;
SELECT count(predict('price', area, rooms, age)) FROM homes;
RESET ROLE;
GRANT EXECUTE ON FUNCTION predict(text, "any") TO PUBLIC;
DROP OWNED BY regress_batch;
SELECT revoke_model('price', 'regress_batch');
DROP ROLE regress_batch;

-- Little memory makes small batches, of wide rows too.
SET work_mem = '64kB';
SELECT with_and_without('SELECT id, repeat(town, 100), t, predict(''price'', area, rooms, age) FROM (SELECT *, town || '' '' || id AS t FROM homes OFFSET 0) AS s');
CREATE TABLE wide AS SELECT id, area, rooms, age, repeat(town, 2000) AS t FROM homes WHERE id <= 100;
ALTER TABLE wide ALTER t SET STORAGE PLAIN;
CREATE TABLE wide_inline (id int, area real, rooms int, age real, t text);
ALTER TABLE wide_inline ALTER t SET STORAGE PLAIN;
INSERT INTO wide_inline SELECT id, area, rooms, age, repeat(town, 1000) FROM homes WHERE id <= 300;
ANALYZE wide, wide_inline;
SELECT with_and_without('SELECT id, t, predict(''price'', area, rooms, age) FROM wide');
SELECT with_and_without('SELECT id, t, predict(''price'', area, rooms, age) FROM wide_inline');
RESET work_mem;

-- Partitions, inherited tables, and empty ones.
CREATE TABLE parted (LIKE homes) PARTITION BY RANGE (id);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (0) TO (500);
CREATE TABLE parted_2 (age real, junk int, id int, town text, rooms int, area real, price numeric);
ALTER TABLE parted_2 DROP junk;
ALTER TABLE parted ATTACH PARTITION parted_2 FOR VALUES FROM (500) TO (3000);
INSERT INTO parted SELECT * FROM homes;
ANALYZE parted;
EXPLAIN (COSTS OFF) SELECT id, predict('price', area, rooms, age) FROM parted;
SELECT with_and_without('SELECT id, predict(''price'', area, rooms, age) FROM parted');
SELECT with_and_without('SELECT id, predict(''price'', parted) FROM parted');
SELECT with_and_without('SELECT avg(predict(''price'', area, rooms, age)) FROM parted');
-- A condition that is tested once for all rows, and one on columns that leaves the row to the output.
SELECT with_and_without(format('SELECT id, p FROM (%s) AS s WHERE %s ORDER BY 1, 2', source, condition))
  FROM unnest(ARRAY['SELECT id, predict(''price'', area, rooms, age) AS p FROM homes UNION ALL SELECT id, area FROM homes',
                    'SELECT id, predict(''price'', area, rooms, age) AS p FROM parted',
                    'SELECT id, predict(''price'', area, rooms, age) AS p FROM homes WHERE predict(''price'', area, rooms, age) > 50']) AS source,
       unnest(ARRAY['(SELECT true)', 'EXISTS (SELECT WHERE false LIMIT 1)']) AS condition;
SELECT with_and_without(format('SELECT id, %s FROM homes AS h WHERE predict(''price'', area, rooms, age) > 50 ORDER BY id', output))
  FROM unnest(ARRAY['predict(''price'', h)', 'h', 'area, predict(''price'', h)', 'CASE WHEN predict(''price'', h) > 60 THEN h END']) AS output;
CREATE TABLE empty (LIKE homes);
SELECT count(predict('nosuch', area, rooms, age)) FROM empty;

-- Parallel workers.
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
EXPLAIN (COSTS OFF) SELECT count(*), sum(predict('price', area, rooms, age)) FROM homes;
EXPLAIN (COSTS OFF) SELECT id, predict('price', area, rooms, age) FROM homes;
SELECT count(*), sum(predict('price', area, rooms, age)::float8) FROM homes;
SELECT count(*), sum(p) FROM (SELECT id, predict('price', area, rooms, age) AS p FROM homes OFFSET 0) AS s;
-- Whoever reads the row first raises, and a worker adds that it is one.
\set SHOW_CONTEXT never
SELECT sum(predict('tickets', day, zone, hours)) FROM fines;
\set SHOW_CONTEXT errors
RESET ALL;
SELECT count(*), sum(predict('price', area, rooms, age)::float8) FROM homes;

-- EXPLAIN ANALYZE counts the rows that were predicted in batches: all but those of the first batch, of one row.
CREATE FUNCTION analyzed(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF) ' || query LOOP
        -- From PostgreSQL 18 on, rows are an average with two digits.
        RETURN NEXT regexp_replace(line, 'rows=(\d+)\.00', 'rows=\1');
    END LOOP;
END $$;
SET pgboost.kernel = portable;
SELECT analyzed('SELECT id, predict(''price'', area, rooms, age) FROM homes');
SELECT analyzed('SELECT id, predict(''price'', area, rooms, age) FROM homes LIMIT 100');
SELECT analyzed('SELECT id FROM homes WHERE id > 500 AND predict(''price'', area, rooms, age) > 105');
RESET pgboost.kernel;
CREATE FUNCTION timed(query text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON) ' || query INTO plan;
    RETURN (plan -> 0 -> 'Plan' ->> 'Prediction Time')::float8 > 0;
END $$;
SELECT timed('SELECT id, predict(''price'', area, rooms, age) FROM homes');

-- A model that columns name.
CREATE TABLE named AS SELECT 'price' || CASE WHEN i % 2 = 0 THEN '_doubled' ELSE '' END AS model, i AS area FROM generate_series(1, 1000) AS i;
ANALYZE named;
EXPLAIN (COSTS off) SELECT predict(model, area, 3, 1) FROM named;
EXPLAIN (COSTS off) SELECT sum(predict(model, area, 3, 1)) FROM named;
EXPLAIN (COSTS off) SELECT area FROM named WHERE predict(model, area, 3, 1) > 100;
-- Also where making the name can fail.
EXPLAIN (COSTS off) SELECT predict(model || '@' || (1 / area)::text, area, 3, 1) FROM named;

-- Contributions, of other rows.
DROP TABLE forms, homes, fines;
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
