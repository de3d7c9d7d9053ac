-- Features as one row or one jsonb object, matched to the model's feature names.
\pset null (null)
CREATE TABLE homes (id int, rooms int, age numeric, area real, city text);
INSERT INTO homes VALUES (1, 2, 1, 40, 'A'), (2, 2, 1, 60, 'B'), (3, 4, NULL, 60, 'C'), (4, 4, 1, NULL, NULL);

-- Columns may be in another order, and there may be more of them, of any type.
SELECT id, predict('price', homes) AS by_name, predict('price', homes.*) AS by_star FROM homes ORDER BY id;
SELECT id, predict('price', h) FROM (SELECT id, area, rooms, age FROM homes) AS h ORDER BY id;
SELECT id, predict('price', h) FROM (SELECT *, rooms + 1 AS more FROM homes) AS h ORDER BY id;
WITH h AS (SELECT area * 2 AS area, rooms, age, id FROM homes) SELECT id, predict('price', h) FROM h ORDER BY id;
SELECT predict('price', h) FROM (VALUES (60, 4, 1), (40, 4, 1)) AS h (area, rooms, age);
SELECT predict('price', ROW(1, 4, 1, 60, 'A')::homes);

-- A row in which all is NULL, and a row that is NULL: everything is missing, which is 0 for price.
SELECT predict('price', ROW(NULL, NULL, NULL, NULL, NULL)::homes) AS nulls, predict('price', NULL::homes) AS null_row;
SELECT predict('gaps', g) FROM (SELECT NULL::int AS x, NULL::int AS y) AS g;
SELECT v.i, predict('price', h) FROM (VALUES (1), (9)) AS v (i) LEFT JOIN homes AS h ON h.id = v.i ORDER BY v.i;

-- An anonymous row has columns f1, f2 and so on: no match, unless those are the names.
SELECT predict('price', ROW(60, 4, 1));
SELECT load_model('numbered', file_of('price'), feature_names => ARRAY['f1', 'f2', 'f3']);
SELECT predict('numbered', ROW(60, 4, 1)), predict('numbered', ROW(60, 4, 1, 'more'));
SELECT predict('numbered', CASE WHEN i = 1 THEN ROW(60, 4, 1) ELSE ROW(40::real, 4::numeric, NULL::int, 'x') END)
  FROM generate_series(1, 3) AS i;

-- A feature without a column is an error that names it; so is a column of an unusable type.
SELECT predict('price', h) FROM (SELECT 60 AS area, 1 AS age) AS h;
SELECT predict('price', h) FROM (SELECT 60 AS area, 'four' AS rooms, 1 AS age) AS h;
SELECT predict('price', h) FROM (SELECT 60 AS area, 4 AS rooms, TIME '10:00' AS age) AS h;
SELECT predict('price', h) FROM (SELECT 60 AS "Area", 4 AS rooms, 1 AS age) AS h;
SELECT predict('nameless', h) FROM homes AS h;
-- One argument that is no row and no array is a feature count of one.
SELECT predict('price', 60);
-- So is a column that takes the name of its table's alias.
SELECT predict('price', area) FROM homes AS area;

-- Columns that are dropped, added and of changed type.
ALTER TABLE homes DROP COLUMN id;
SELECT predict('price', homes) FROM homes;
PREPARE by_row AS SELECT predict('price', homes) FROM homes;
EXECUTE by_row;
ALTER TABLE homes ALTER rooms TYPE real, ADD COLUMN garden real DEFAULT 5;
EXECUTE by_row;
ALTER TABLE homes DROP COLUMN age;
EXECUTE by_row;
ALTER TABLE homes ADD COLUMN age real DEFAULT 7;
EXECUTE by_row;

-- Whole rows of a table in batches, of which no row value is formed: with other columns, NULLs, and values
-- that were there before their column.
CREATE TABLE estate AS SELECT i AS id, repeat('x', i % 40) AS note, (i % 7)::smallint AS rooms, i / 8.0 AS age,
    CASE WHEN i % 10 > 0 THEN (i % 100)::real END AS area FROM generate_series(1, 2000) AS i;
ALTER TABLE estate ADD COLUMN city text DEFAULT 'A';
ANALYZE estate;
SELECT sum(predict('price', e)), sum(predict('price', e.*)), sum(predict('price', area, rooms, age)) FROM estate AS e;
SELECT count(*) FROM (SELECT predict('price', e) AS p, predict('price', area, rooms, age) AS expected FROM estate AS e) AS f
 WHERE p IS DISTINCT FROM expected;
SELECT id, predict('price', e) AS p, e FROM estate AS e ORDER BY p DESC, id LIMIT 2;
SELECT count(*), sum(length(e::text)) FROM estate AS e WHERE predict('price', e) > 105;
SELECT max((predict_margin('price', e))[1]), max(predict('price', to_jsonb(e))) FROM estate AS e;
-- A row that fails does so when it is fetched, with the whole row.
CREATE TABLE trips AS SELECT i AS id, CASE i WHEN 700 THEN 'day' ELSE 'sun' END AS weekday, 10 AS zone, i % 9 AS hours
    FROM generate_series(1, 1000) AS i;
ANALYZE trips;
SELECT sum(p) FROM (SELECT predict('tickets', t) AS p FROM trips AS t LIMIT 699) AS f;
SELECT sum(predict('tickets', t)) FROM trips AS t;
SELECT sum(predict('price', t)) FROM trips AS t;
-- With a column that was dropped row values are formed.
ALTER TABLE estate DROP COLUMN note;
SELECT sum(predict('price', e)) FROM estate AS e;
PREPARE by_estate AS SELECT sum(predict('price', e)) FROM estate AS e;
EXECUTE by_estate;
ALTER TABLE estate ALTER rooms TYPE real;
EXECUTE by_estate;
DEALLOCATE by_estate;
DROP TABLE estate, trips;

-- Rows of composite types, of domains over them, of views, of partitions and of children.
CREATE TYPE home AS (area real, rooms int, age int);
CREATE DOMAIN new_home AS home CHECK ((VALUE).age < 5);
SELECT predict('price', ROW(60, 4, 1)::home) AS composite, predict('price', ROW(60, 4, 1)::new_home) AS domain,
       predict('price', NULL::new_home) AS null_domain;
CREATE TABLE owned (owner text, home home);
INSERT INTO owned VALUES ('a', ROW(60, 2, 1)), ('b', NULL), ('c', ROW(NULL, 4, NULL));
SELECT owner, predict('price', home), predict('price', (owned.home).area, 4, 1) FROM owned ORDER BY owner;
CREATE VIEW big_homes AS SELECT * FROM homes WHERE area > 50;
SELECT predict('price', big_homes) FROM big_homes;
CREATE TABLE houses (garage int) INHERITS (homes);
INSERT INTO houses (area, rooms, age) VALUES (60, 9, 9);
SELECT tableoid::regclass, predict('price', h) FROM homes AS h ORDER BY 1, 2;
CREATE TABLE parts (age int, area int, rooms int, k int) PARTITION BY LIST (k);
CREATE TABLE part_1 PARTITION OF parts FOR VALUES IN (1);
CREATE TABLE part_2 (k int, gone int, rooms int, area int, age int);
ALTER TABLE part_2 DROP COLUMN gone;
ALTER TABLE parts ATTACH PARTITION part_2 FOR VALUES IN (2);
INSERT INTO parts (k, area, rooms, age) VALUES (1, 60, 2, 1), (2, 60, 4, 1);
SELECT k, predict('price', parts) FROM parts ORDER BY k;
SELECT predict('price', part_2) FROM part_2;

-- In a trigger and in PL/pgSQL, where a record's type comes late.
CREATE FUNCTION scored() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE NOTICE 'predicted %', predict('price', NEW);
    RETURN NEW;
END $$;
CREATE TRIGGER scored BEFORE INSERT ON homes FOR EACH ROW EXECUTE FUNCTION scored();
INSERT INTO homes (area, rooms, age) VALUES (60, 4, 1);
DO $$
DECLARE
    r record;
BEGIN
    FOR r IN SELECT 60 AS area, 2 AS rooms, 0 AS age UNION ALL SELECT 40, 4, 0 ORDER BY 1 LOOP
        RAISE NOTICE '%', predict('price', r);
    END LOOP;
    SELECT 4.5 AS rooms, NULL::int AS age, 60::bigint AS area INTO r;
    RAISE NOTICE '%', predict('price', r);
END $$;

-- A composite type may change while a statement runs: its rows are matched again.
CREATE TYPE changing AS (area real, rooms real, age real);
CREATE FUNCTION changed(i int) RETURNS changing LANGUAGE plpgsql AS $$
DECLARE r changing;
BEGIN
    IF i = 3 THEN
        ALTER TYPE changing RENAME ATTRIBUTE age TO years;
        ALTER TYPE changing RENAME ATTRIBUTE area TO age;
        ALTER TYPE changing RENAME ATTRIBUTE years TO area;
    ELSIF i = 4 THEN
        ALTER TYPE changing DROP ATTRIBUTE age;
    END IF;
    EXECUTE 'SELECT (ROW(60, 4' || CASE WHEN i < 4 THEN ', 1' ELSE '' END || ')::changing).*' INTO r;
    RETURN r;
END $$;
SELECT i, predict('price', changed(i)) FROM generate_series(1, 3) AS i;
SELECT predict('price', changed(i)) FROM generate_series(1, 4) AS i WHERE i IN (1, 4);
