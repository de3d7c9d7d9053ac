-- predict_pinned: an IMMUTABLE prediction, in indexes and generated columns, and what it keeps from being dropped.
\pset null (null)
SET client_min_messages = warning;
SELECT load_model('m', file_of('price')), load_model('m', file_of('price_doubled'));

-- Only a pinned version, by its number.
SELECT predict_pinned('m@1', 60, 4, 1);
SELECT pin_model('m', 1);
SELECT predict_pinned('m@1', 60, 4, 1), predict_pinned(NULL, 60, 4, 1);
SELECT predict_pinned('m', 60, 4, 1);
SELECT predict_pinned('m@2', 60, 4, 1);
SELECT predict_pinned('m@01', 60, 4, 1);
SELECT alias_model('m', 'first', 1);
SELECT predict_pinned('m@first', 60, 4, 1);
SELECT predict_pinned('m@3', 60, 4, 1);
SELECT pin_model('m', 3);
SELECT pin_model('nosuch', 1);
SELECT unpin_model('m', 3);
SELECT pin_model('m', NULL);
SELECT pin_model('m', 1), name, version, pinned FROM pgboost_models WHERE name = 'm' ORDER BY version;
SELECT provolatile, proparallel FROM pg_proc WHERE proname = 'predict_pinned';

-- An expression index that serves a condition and an order.
CREATE TABLE flat (id int, area int, rooms int, age int);
INSERT INTO flat SELECT i, i % 100, i % 5, i % 7 FROM generate_series(1, 2000) AS i;
CREATE INDEX flat_price ON flat (predict_pinned('m@1', area, rooms, age));
ANALYZE flat;
SET enable_seqscan = off;
EXPLAIN (COSTS off) SELECT id FROM flat WHERE predict_pinned('m@1', area, rooms, age) > 105;
SELECT count(*) FROM flat WHERE predict_pinned('m@1', area, rooms, age) > 105;
RESET enable_seqscan;
SET enable_indexscan = off;
SET enable_bitmapscan = off;
SELECT count(*) FROM flat WHERE predict('m@1', area, rooms, age) > 105;
RESET enable_indexscan;
RESET enable_bitmapscan;

-- A generated column.
CREATE TABLE offer (area int, rooms int, age int,
                    price real GENERATED ALWAYS AS (predict_pinned('m@1', area, rooms, age)) STORED);
INSERT INTO offer VALUES (60, 4, 1), (40, 2, 1), (NULL, NULL, NULL);
UPDATE offer SET rooms = 1 WHERE area = 60;
SELECT * FROM offer ORDER BY area;
-- A partition bound, a domain's check, a policy and statistics.
CREATE TABLE parts (area int, rooms int, age int) PARTITION BY RANGE ((predict_pinned('m@1', area, rooms, age)));
CREATE TABLE parts_cheap PARTITION OF parts FOR VALUES FROM (MINVALUE) TO (50);
CREATE TABLE parts_dear PARTITION OF parts FOR VALUES FROM (50) TO (MAXVALUE);
INSERT INTO parts VALUES (60, 4, 1), (40, 2, 1);
SELECT tableoid::regclass, area FROM parts ORDER BY area;
CREATE STATISTICS flat_prices ON predict_pinned('m@1', area, rooms, age), id FROM flat;

-- While it is pinned the version cannot be dropped, nor its model; other versions can.
SELECT drop_alias('m', 'first');
SELECT drop_model('m', 1);
SELECT drop_model('m');
SELECT deploy_model('m', 1), drop_model('m', 2);
SELECT load_model('m', file_of('price_doubled'));
SELECT predict_pinned('m@1', 60, 4, 1), predict('m', 60, 4, 1);
-- Nor can it be unpinned while PostgreSQL knows of what depends on it.
DO $$
DECLARE
    dependent text;
BEGIN
    FOREACH dependent IN ARRAY ARRAY['STATISTICS flat_prices', 'INDEX flat_price', 'TABLE offer', 'TABLE parts'] LOOP
        BEGIN
            PERFORM unpin_model('m', 1);
            RAISE EXCEPTION 'unpinned with % there', dependent;
        EXCEPTION WHEN object_in_use THEN
            EXECUTE 'DROP ' || dependent;
        END;
    END LOOP;
END $$;
CREATE VIEW priced AS SELECT id, predict_pinned('m@1', area, rooms, age) AS price FROM flat;
SELECT unpin_model('m', 1);
DROP VIEW priced;
CREATE FUNCTION price(area int) RETURNS real IMMUTABLE LANGUAGE sql RETURN predict_pinned('m@1', area, 4, 1);
SELECT unpin_model('m', 1);
DROP FUNCTION price;
ALTER TABLE flat ADD CHECK (predict_pinned('m@1', area, rooms, age) < 1000);
SELECT unpin_model('m', 1);
ALTER TABLE flat DROP CONSTRAINT flat_check;
CREATE POLICY cheap ON flat USING (predict_pinned('m@1', area, rooms, age) < 50);
SELECT unpin_model('m', 1);
DROP POLICY cheap ON flat;
-- Another version's use is none of this one.
SELECT pin_model('m', 3);
CREATE INDEX other ON flat (predict_pinned('m@3', area, rooms, age));
SELECT unpin_model('m', 1);
SELECT predict_pinned('m@1', 60, 4, 1);
SELECT drop_model('m');
DROP INDEX other;
SELECT unpin_model('m', 3), drop_model('m');

-- What is IMMUTABLE depends on no setting, and on no name that can change.
SELECT pin_model('tickets', 1);
SELECT predict_pinned('tickets@1', 'wed', 10, 1);
SET pgboost.unknown_category = missing;
SELECT predict_pinned('tickets@1', 'wed', 10, 1);
SELECT predict('tickets@1', 'wed', 10, 1);
CREATE TEMP TABLE days AS SELECT CASE WHEN i % 2 = 0 THEN 'sat' ELSE 'wed' END AS day, 10 AS zone, 1 AS hours FROM generate_series(1, 300) AS i;
SELECT count(predict_pinned('tickets@1', day, zone, hours)) FROM days;
SELECT count(predict_pinned('tickets@1', day, zone, hours)) FROM days WHERE day = 'sat';
RESET pgboost.unknown_category;
CREATE TYPE day AS ENUM ('weekday', 'weekend');
SELECT predict_pinned('tickets@1', 'weekend'::day, 10, 1);
SELECT unpin_model('tickets', 1);

-- Rights: the owner pins; who inserts into an indexed table needs a right to the model.
SELECT load_model('m', file_of('price'));
SELECT pin_model('m', 1);
CREATE ROLE regress_pin;
GRANT EXECUTE ON FUNCTION pin_model, unpin_model TO regress_pin;
CREATE INDEX flat_price ON flat (predict_pinned('m@1', area, rooms, age));
GRANT INSERT, SELECT ON flat TO regress_pin;
SET ROLE regress_pin;
SELECT pin_model('m', 1);
SELECT unpin_model('m', 1);
INSERT INTO flat VALUES (0, 60, 4, 1);
RESET ROLE;
SELECT grant_model('m', 'regress_pin');
SET ROLE regress_pin;
INSERT INTO flat VALUES (0, 60, 4, 1);
RESET ROLE;
DROP OWNED BY regress_pin;
DROP ROLE regress_pin;
-- Transactions: a pin rolls back.
BEGIN;
DROP INDEX flat_price;
SELECT unpin_model('m', 1);
SELECT predict_pinned('m@1', 60, 4, 1);
ROLLBACK;
SELECT predict_pinned('m@1', 60, 4, 1);
