-- The kernel is a setting: what everybody may choose on every CPU, and that a change is followed at once.
SET client_min_messages = warning;
LOAD 'pgboost';
SHOW pgboost.kernel;
CREATE TABLE homes AS SELECT i AS id, (i % 100)::real AS area, i % 7 AS rooms, (i % 9)::real AS age FROM generate_series(1, 2000) AS i;
ANALYZE homes;

-- No such kernel, on any CPU.
SET pgboost.kernel = 'altivec';
SET pgboost.kernel = '';
SELECT set_config('pgboost.kernel', 'sse2', false);
SHOW pgboost.kernel;
SET pgboost.kernel = 'PORTABLE';
SHOW pgboost.kernel;
RESET pgboost.kernel;

-- A statement that begins with one kernel continues with another: the same, in batches and row by row.
PREPARE total AS SELECT sum(predict('large', area, rooms, age)) AS large, sum(predict('price', homes)) AS price FROM homes;
EXECUTE total \gset auto_
SET pgboost.kernel = portable;
EXECUTE total \gset portable_
SET pgboost.enable_batch = off;
EXECUTE total \gset portable_row_
RESET pgboost.kernel;
EXECUTE total \gset auto_row_
RESET pgboost.enable_batch;
SELECT count(*), count(DISTINCT (large, price)), min(price) FROM (VALUES (:'auto_large', :'auto_price'),
  (:'portable_large', :'portable_price'), (:'portable_row_large', :'portable_row_price'), (:'auto_row_large', :'auto_row_price')) AS v (large, price);
BEGIN;
DECLARE c CURSOR FOR SELECT id, predict('price', area, rooms, age) FROM homes;
FETCH 2 FROM c;
SET LOCAL pgboost.kernel = portable;
FETCH 2 FROM c;
MOVE 100 IN c;
SET LOCAL pgboost.kernel = auto;
MOVE 500 IN c;
FETCH 2 FROM c;
SAVEPOINT s;
SET LOCAL pgboost.kernel = portable;
ROLLBACK TO s;
SHOW pgboost.kernel;
FETCH 1 FROM c;
ROLLBACK;

-- Within a query, too: each row is predicted with another one.
SELECT count(*), count(DISTINCT p) FROM (
  SELECT set_config('pgboost.kernel', CASE WHEN i % 2 = 0 THEN 'portable' ELSE 'auto' END, true), predict('large', 3, 4, 5) AS p
    FROM generate_series(1, 10) AS i) AS s;

-- Anybody may set it, and a function may have its own setting.
CREATE ROLE regress_kernel;
CREATE FUNCTION price(real, int, real) RETURNS real LANGUAGE sql STABLE SET pgboost.kernel = portable AS $$ SELECT predict('price', $1, $2, $3) $$;
SELECT count(*) FROM homes WHERE price(area, rooms, age) <> predict('price', area, rooms, age);
SET ROLE regress_kernel;
SET pgboost.kernel = portable;
SHOW pgboost.kernel;
RESET ROLE;
RESET pgboost.kernel;
DROP ROLE regress_kernel;

-- A value that this CPU cannot use does not stop connections: the library warns once it is loaded.
\c -
ALTER DATABASE :DBNAME SET pgboost.kernel = 'altivec';
\c -
SELECT predict('price', 60, 4, 1);
SHOW pgboost.kernel;
ALTER DATABASE :DBNAME RESET pgboost.kernel;
