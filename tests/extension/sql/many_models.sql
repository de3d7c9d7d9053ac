-- A model per row: the model's name is a column, and the rows of a batch are grouped by it.
SET client_min_messages = warning;
SELECT count(load_model('store_' || i, CASE WHEN i % 2 = 0 THEN file_of('price') ELSE file_of('price_doubled') END)) FROM generate_series(1, 40) AS i;
SELECT count(set_alias('store_' || i || '@1', 'champion')::text) FROM generate_series(1, 40) AS i;
CREATE TABLE flat AS
    SELECT i AS id, 'store_' || (i * 7 % 40 + 1) AS model, (i % 100)::real AS area, i % 6 AS rooms, 1 AS age
      FROM generate_series(1, 5000) AS i;
ANALYZE flat;

SELECT sum(predict(model, area, rooms, age)), count(*) FROM flat;
SELECT sum(CASE WHEN substr(model, 7)::int % 2 = 0 THEN predict('price', area, rooms, age) ELSE predict('price_doubled', area, rooms, age) END) FROM flat;
SELECT count(*) FROM (SELECT id, predict(model, area, rooms, age) AS p,
                             CASE WHEN substr(model, 7)::int % 2 = 0 THEN 1 ELSE 2 END * predict('price', area, rooms, age) AS expected FROM flat) AS f
 WHERE p IS DISTINCT FROM expected;
-- As rows, arrays and jsonb, and with other functions.
SELECT sum(predict(model, f)) FROM flat AS f;
SELECT sum(predict(model, ARRAY[area, rooms, age]::real[])) FROM flat;
SELECT sum((predict_margin(model, area, rooms, age))[1]) FROM flat;
-- Many rows of one model, and models of other outputs between them.
CREATE TABLE mixed AS SELECT id, 'store_' || id / 3000 + 1 AS store, (ARRAY['gaps', 'churn', 'flower'])[id % 3 + 1] AS model, area, rooms, age FROM flat;
ANALYZE mixed;
SELECT sum(predict(store, area, rooms, age)) FROM mixed;
SELECT sum(CASE WHEN id < 3000 THEN predict('price_doubled', area, rooms, age) ELSE predict('price', area, rooms, age) END) FROM mixed;
SELECT count(*) FROM (SELECT predict_array(model, area, rooms) AS p,
                             CASE model WHEN 'gaps' THEN predict_array('gaps', area, rooms) WHEN 'churn' THEN predict_array('churn', area, rooms)
                                  ELSE predict_array('flower', area, rooms) END AS expected FROM mixed) AS f
 WHERE p IS DISTINCT FROM expected;
-- Of two models after each other, one has codes of categories where the other has numbers, or compares doubles.
SELECT load_model('ranks', convert_to('{"tree_ensemble": 1, "value_type": "float32", "feature_names": ["rooms", "age"], "categories": [[5, 4, 3, 2, 1, 0], null],
    "trees": [{"left": [1, -1, -1], "right": [2, -1, -1], "feature": [0, 0, 0], "threshold": [0, 0, 0], "missing_left": [false, false, false],
               "category_set": [0, -1, -1], "category_sets": [[0, 1, 2]], "leaf_values": [1, 2]}]}', 'UTF8')),
       load_model('fine', convert_to('{"tree_ensemble": 1, "num_features": 2, "trees": [{"left": [1, -1, -1], "right": [2, -1, -1],
               "feature": [0, 0, 0], "threshold": [3.00000001, 0, 0], "missing_left": [false, false, false], "leaf_values": [1, 2]}]}', 'UTF8'));
SELECT other, count(DISTINCT p), count(*) FILTER (WHERE p IS DISTINCT FROM expected)
  FROM (SELECT o.other, CASE id % 2 WHEN 0 THEN predict('churn', x, age) ELSE predict(o.other, x, age) END AS expected,
               predict(CASE id % 2 WHEN 0 THEN 'churn' ELSE o.other END, x, age) AS p
          FROM flat, LATERAL (VALUES ('ranks', rooms::numeric), ('fine', rooms + 0.00000002)) AS o (other, x)) AS f
 GROUP BY other ORDER BY other;
-- A boolean is a category as its number is, in an object too.
SELECT predict('ranks', true, 1) AS argument, predict('ranks', '{"rooms": true, "age": 1}'::jsonb) AS member, predict('ranks', 1, 1) AS number;
-- Features of type real alone, which are kept without their names: with NULLs, names stored in two ways, and names at any place.
CREATE TABLE reals AS SELECT area, CASE WHEN id % 11 > 0 THEN model END AS model, rooms::real AS rooms, NULLIF(age, id % 7)::real AS age, id FROM flat;
ANALYZE reals;
SELECT sum(predict(model, area, rooms, age)), count(predict(model, area, rooms, age)) FROM reals;
SELECT sum(CASE WHEN substr(model, 7)::int % 2 = 0 THEN predict('price', area, rooms, age) ELSE predict('price_doubled', area, rooms, age) END) FROM reals WHERE model IS NOT NULL;
SELECT sum(predict(CASE WHEN id % 2 = 0 THEN model ELSE model || '' END, area, rooms, age)) FROM reals;
SELECT sum(predict(model, age, rooms, area)) = sum(CASE WHEN substr(model, 7)::int % 2 = 0 THEN predict('price', age, rooms, area) ELSE predict('price_doubled', age, rooms, area) END) FROM reals WHERE model IS NOT NULL;
SELECT sum(predict(model, area, rooms, age)), sum((predict_margin(model, area, rooms, age))[1]) FROM reals;
CREATE TABLE mixed_reals AS SELECT model, area, rooms::real AS rooms FROM mixed;
ANALYZE mixed_reals;
SELECT sum((predict_array(model, area, rooms))[1]) = (SELECT sum((predict_array(model, area, rooms))[1]) FROM mixed) FROM mixed_reals;
SELECT sum(predict(model, area)) FROM mixed_reals;
BEGIN;
DECLARE c CURSOR FOR SELECT predict(model, area, rooms, age) FROM reals WHERE id % 40 = 1;
FETCH 12 FROM c;
SELECT count(drop_model('store_8')::text);
FETCH 3 FROM c;
ROLLBACK;
-- Conditions, joins, and rows in their order.
SELECT count(*), sum(id) FROM flat WHERE predict(model, area, rooms, age) > 105;
CREATE TABLE store (number int, model text);
INSERT INTO store SELECT i, 'store_' || i FROM generate_series(1, 40) AS i;
SELECT sum(predict(s.model, f.area, f.rooms, f.age)) FROM flat AS f JOIN store AS s ON s.number = f.id % 40 + 1;
SELECT id, predict(model, area, rooms, age) FROM flat ORDER BY id LIMIT 5;
SELECT id, predict(model, area, rooms, age) AS p FROM flat ORDER BY p DESC, id LIMIT 5;
-- A NULL name is a NULL prediction; versions and aliases are names too.
SELECT count(*), count(p) FROM (SELECT predict(CASE WHEN id % 10 > 0 THEN model END, area, rooms, age) AS p FROM flat) AS f;
CREATE TABLE by_alias AS SELECT id, model || CASE id % 3 WHEN 0 THEN '@1' WHEN 1 THEN '@champion' ELSE '' END AS model, area, rooms, age FROM flat;
ANALYZE by_alias;
SELECT sum(predict(model, area, rooms, age)) FROM by_alias;

-- A name of no model is an error when its row is fetched, and not before.
CREATE TABLE wrong AS SELECT id, CASE WHEN id = 3000 THEN 'store_0' ELSE model END AS model, area, rooms, age FROM flat ORDER BY id;
ANALYZE wrong;
SELECT sum(predict(model, area, rooms, age)) FROM wrong;
SELECT sum(p) FROM (SELECT predict(model, area, rooms, age) AS p FROM wrong LIMIT 2999) AS f;
SELECT count(*) FROM (SELECT predict(model, area, rooms, age) AS p FROM wrong LIMIT 3000 OFFSET 0) AS f WHERE p > 0;

-- Rights are each model's own.
CREATE ROLE regress_store;
GRANT SELECT ON flat TO regress_store;
SELECT count(grant_model('store_' || i, 'regress_store')::text) FROM generate_series(1, 39) AS i;
SET ROLE regress_store;
SELECT sum(predict(model, area, rooms, age)) FROM flat WHERE model <> 'store_40';
SELECT sum(predict(model, area, rooms, age)) FROM flat;
RESET ROLE;
-- Row level security hides rows, and their models with them.
ALTER TABLE flat ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON flat USING (model <> 'store_40');
SET ROLE regress_store;
SELECT sum(predict(model, area, rooms, age)) FROM flat;
RESET ROLE;
DROP OWNED BY regress_store;
DROP ROLE regress_store;

-- A change of a model while a cursor is open does not change what it returns.
BEGIN;
DECLARE c CURSOR FOR SELECT id, predict(model, area, rooms, age) FROM flat WHERE model = 'store_8' ORDER BY id;
FETCH 2 FROM c;
SELECT count(load_model('store_8', file_of('price_doubled')));
FETCH 2 FROM c;
ROLLBACK;

-- In parallel workers.
CREATE TABLE many AS SELECT f.* FROM flat AS f, generate_series(1, 4);
ANALYZE many;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
SELECT sum(predict(model, area, rooms, age)) FROM many;
