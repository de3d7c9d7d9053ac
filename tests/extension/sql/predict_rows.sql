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

-- One jsonb object.
SELECT predict('price', '{"rooms": 4, "area": 60, "age": 1}'::jsonb) AS plain,
       predict('price', '{"rooms": 4, "area": 60, "age": 1, "city": "Z", "more": [1, {}]}'::jsonb) AS with_more,
       predict('price', jsonb_build_object('area', 60.5, 'rooms', 1e1, 'age', -0.0)) AS built;
SELECT predict('gaps', '{"x": null, "y": 1}'::jsonb) AS json_null, predict('gaps', '{"x": null, "y": null}'::jsonb) AS all_null,
       predict('gaps', NULL::jsonb) AS sql_null;
SELECT predict('price', '{"area": true, "rooms": 4, "age": false}'::jsonb) AS boolean,
       predict('price', '{"area": 1e400, "rooms": -1e400, "age": 0}'::jsonb) AS huge;
SELECT predict('price', to_jsonb(h)) FROM (SELECT 60 AS area, 4 AS rooms, 1 AS age) AS h;

-- NaN and infinities as to_jsonb writes them, for numbers and for codes of categories.
SELECT predict('gaps', r) = predict('gaps', to_jsonb(r)) AS same, predict('gaps', to_jsonb(r)), to_jsonb(r)
  FROM (VALUES ('NaN'::real, 1::numeric), ('Infinity', 'Infinity'), ('-Infinity', 'NaN')) AS r (x, y);
SELECT predict('codes', jsonb_object_agg(feature, 'NaN')) FROM model_features('codes');
SELECT predict('price', '{"area": "nan", "rooms": 4, "age": 1}'::jsonb);

-- From a table, with objects that differ from row to row.
CREATE TABLE documents (id int, body jsonb);
INSERT INTO documents VALUES (1, '{"area": 60, "rooms": 2, "age": 1}'), (2, '{"age": null, "rooms": 4, "area": 40, "x": {}}'),
    (3, NULL), (4, jsonb_build_object('area', 60, 'rooms', 4, 'age', 1, 'text', repeat('long ', 3000)));
SELECT id, predict('price', body) FROM documents ORDER BY id;
SELECT id, predict('price', body -> 'inner') FROM (SELECT id, jsonb_build_object('inner', body) FROM documents WHERE id <> 3) AS v (id, body) ORDER BY id;

-- Keys are text: no case folding, no blanks trimmed, any characters.
SELECT load_model('odd', file_of('price'), feature_names => ARRAY['Größe in m²', 'a "b" c', '👍']);
SELECT predict('odd', '{"Größe in m²": 60, "a \"b\" c": 4, "👍": 1}'::jsonb);
SELECT predict('odd', r) FROM (SELECT 60 AS "Größe in m²", 4 AS "a ""b"" c", 1 AS "👍") AS r;
SELECT predict('odd', '{"größe in m²": 60, "a \"b\" c": 4, "👍": 1}'::jsonb);

-- Wrong objects.
SELECT predict('price', '{"area": 60, "rooms": 4}'::jsonb);
SELECT predict('price', '{}'::jsonb);
SELECT predict('price', '{"area": 60, "rooms": "4", "age": 1}'::jsonb);
SELECT predict('price', '{"area": 60, "rooms": [4], "age": 1}'::jsonb);
SELECT predict('price', '{"area": 60, "rooms": {}, "age": 1}'::jsonb);
SELECT predict('price', '[60, 4, 1]'::jsonb);
SELECT predict('price', '60'::jsonb);
SELECT predict('price', '"area"'::jsonb);
SELECT predict('price', 'null'::jsonb);
SELECT predict('nameless', '{"f0": 1, "f1": 1}'::jsonb);
SELECT predict('price', '{"area": 60, "rooms": 4, "age": 1}'::json);

-- Objects of the same keys and of others in turn, some of more keys than one stride of the format has, and
-- keys that differ in their text alone.
CREATE TABLE objects AS
    SELECT i AS id, jsonb_build_object('area', i % 100 / 2.0, 'rooms', i % 7, 'age', NULL) || others.o AS o
      FROM generate_series(1, 2000) AS i,
           LATERAL (SELECT jsonb_object_agg(chr(97 + i / 100 % 3) || repeat('k', j % 9) || j, CASE j % 4 WHEN 0 THEN to_jsonb(j / 3.0)
                        WHEN 1 THEN to_jsonb(repeat('v', j)) WHEN 2 THEN 'true' ELSE '[1, {"a": 2}]' END) AS o
                      FROM generate_series(1, CASE WHEN i < 1000 THEN i % 3 ELSE i / 20 END + 1) AS j) AS others;
ANALYZE objects;
SELECT sum(predict('price', o)), sum(predict('price', (o ->> 'area')::numeric, (o ->> 'rooms')::int, NULL::int)) FROM objects;
SELECT count(*) FROM (SELECT predict('price', o) AS p, predict('price', (o ->> 'area')::numeric, (o ->> 'rooms')::int, NULL::int) AS expected
    FROM objects) AS f WHERE p IS DISTINCT FROM expected;
SELECT predict('price', CASE WHEN id % 2 = 0 THEN o ELSE o - 'area' END) FROM objects WHERE id < 3 ORDER BY id DESC;
SELECT predict('price', CASE WHEN id % 2 = 0 THEN o ELSE '{}' END) FROM objects WHERE id < 3 ORDER BY id DESC;
DROP TABLE objects;
