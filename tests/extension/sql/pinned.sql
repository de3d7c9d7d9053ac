-- predict_pinned: an IMMUTABLE prediction, in indexes and generated columns, and the drops that it prevents.
\pset null (null)
SET client_min_messages = warning;
SELECT load_model('m', file_of('price')), load_model('m', file_of('price_doubled'));

-- Only a pinned version, by its number.
SELECT predict_pinned('m@1', 60, 4, 1);
SELECT pin_model('m@1');
SELECT predict_pinned('m@1', 60, 4, 1), predict_pinned(NULL, 60, 4, 1);
SELECT predict_pinned('m@1', ARRAY[60, 4, 1]) AS of_array, predict_pinned('m@1', '{"area": 60, "rooms": 4, "age": 1, "other": 1}'::jsonb) AS of_jsonb;
SELECT predict_pinned('m', 60, 4, 1);
SELECT predict_pinned('m@2', 60, 4, 1);
SELECT predict_pinned('m@01', 60, 4, 1);
SELECT set_alias('m@1', 'first');
SELECT predict_pinned('m@first', 60, 4, 1);
SELECT predict_pinned('m@3', 60, 4, 1);
SELECT pin_model('m@3');
SELECT pin_model('nosuch@1');
SELECT unpin_model('m@3');
SELECT pin_model(NULL);
SELECT pin_model('m@1'), name, version, pinned FROM pgboost_models WHERE name = 'm' ORDER BY version;
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
SELECT drop_alias('m@first');
SELECT drop_model('m@1');
SELECT drop_model('m');
SELECT deploy_model('m@1'), drop_model('m@2');
SELECT load_model('m', file_of('price_doubled'));
SELECT predict_pinned('m@1', 60, 4, 1), predict('m', 60, 4, 1);
-- It cannot be unpinned either while PostgreSQL knows of objects that depend on it.
DO $$
DECLARE
    dependent text;
BEGIN
    FOREACH dependent IN ARRAY ARRAY['STATISTICS flat_prices', 'INDEX flat_price', 'TABLE offer', 'TABLE parts'] LOOP
        BEGIN
            PERFORM unpin_model('m@1');
            RAISE EXCEPTION 'unpinned with % there', dependent;
        EXCEPTION WHEN object_in_use THEN
            EXECUTE 'DROP ' || dependent;
        END;
    END LOOP;
END $$;
CREATE VIEW priced AS SELECT id, predict_pinned('m@1', area, rooms, age) AS price FROM flat;
SELECT unpin_model('m@1');
DROP VIEW priced;
CREATE FUNCTION price(area int) RETURNS real IMMUTABLE LANGUAGE sql RETURN predict_pinned('m@1', area, 4, 1);
SELECT unpin_model('m@1');
DROP FUNCTION price;
ALTER TABLE flat ADD CHECK (predict_pinned('m@1', area, rooms, age) < 1000);
SELECT unpin_model('m@1');
ALTER TABLE flat DROP CONSTRAINT flat_check;
CREATE POLICY cheap ON flat USING (predict_pinned('m@1', area, rooms, age) < 50);
SELECT unpin_model('m@1');
DROP POLICY cheap ON flat;
-- Another version's use is none of this one.
SELECT pin_model('m@3');
CREATE INDEX other ON flat (predict_pinned('m@3', area, rooms, age));
SELECT unpin_model('m@1');
SELECT predict_pinned('m@1', 60, 4, 1);
SELECT drop_model('m');
DROP INDEX other;
SELECT unpin_model('m@3'), drop_model('m');

-- An IMMUTABLE function depends on no setting, and on no name that can change.
SELECT pin_model('tickets@1');
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
SELECT unpin_model('tickets@1');

-- A number that was ever pinned is never given again, even after drops: stored results keep their meaning.
SELECT load_model('m', file_of('price_doubled'));
SELECT load_model('m', file_of('price'));
SELECT drop_model('m');
SELECT load_model('m', file_of('price'));
SELECT name, version, deployed FROM pgboost_models WHERE name = 'm';
BEGIN;
SELECT drop_model('m');
SELECT load_model('m', file_of('price'), deploy => false);
SELECT load_model('m', file_of('price'), deploy => false);
SELECT name, version, deployed FROM pgboost_models WHERE name = 'm' ORDER BY version;
ROLLBACK;
SELECT pin_model('m@4');
BEGIN;
SELECT load_model('never', file_of('price'));
SELECT pin_model('never@1');
SELECT unpin_model('never@1'), drop_model('never');
SELECT load_model('never', file_of('price'));
ROLLBACK;
SELECT load_model('never', file_of('price'));

-- The name is a constant, or a parameter of the statement; otherwise dependents of the version could not be found.
SELECT predict_pinned(name, 60, 4, 1) FROM (VALUES ('m@4')) AS v (name);
CREATE TABLE named AS SELECT 'm@4' AS name, i AS area, 4 AS rooms, 1 AS age FROM generate_series(1, 300) AS i;
SELECT predict_pinned(name, area, rooms, age) FROM named LIMIT 1;
SELECT sum(predict_pinned(name, area, rooms, age)) FROM named;
CREATE INDEX ON named (predict_pinned(name, area, rooms, age));
CREATE TABLE computed (name text, score real GENERATED ALWAYS AS (predict_pinned(name, 60, 4, 1)) STORED);
INSERT INTO computed VALUES ('m@4');
SELECT predict_pinned(min(name), 60, 4, 1) FROM named;
PREPARE by_name(text) AS SELECT sum(predict_pinned($1, area, rooms, age)) FROM named;
EXECUTE by_name('m@4');
SET plan_cache_mode = force_generic_plan;
EXECUTE by_name('m@4');
EXECUTE by_name('m@3');
RESET plan_cache_mode;
DO $$ DECLARE model text := 'm@4'; BEGIN RAISE WARNING 'price %', predict_pinned(model, 60, 4, 1); END $$;
-- An expression that the planner folds to a constant counts as one.
SELECT predict_pinned('m' || '@4', 60, 4, 1), predict_pinned(lower('M@4'), 60, 4, 1), predict_pinned('m@4'::varchar COLLATE "C", 60, 4, 1);

-- However the name is written, what depends on the version is found, and keeps the pin.
DROP TABLE computed;
SET quote_all_identifiers = on;
SELECT load_model('a\b', file_of('price'));
SELECT pin_model('a\b@1');
BEGIN;
SELECT unpin_model('m@4'), unpin_model('a\b@1');
ROLLBACK;
DO $$
DECLARE
    thing text[];
BEGIN
    FOREACH thing SLICE 1 IN ARRAY ARRAY[
        ['m 4', 'INDEX i', 'INDEX i ON flat (predict_pinned(''m@4'', area, rooms, age))'],
        ['m 4', 'INDEX i', 'INDEX i ON flat (predict_pinned(''m@4''::varchar, area, rooms, age))'],
        ['m 4', 'INDEX i', 'INDEX i ON flat (predict_pinned(''m@4'' COLLATE "C", area, rooms, age))'],
        ['m 4', 'INDEX i', 'INDEX i ON flat (predict_pinned(''m'' || ''@4'', area, rooms, age))'],
        ['m 4', 'INDEX i', 'INDEX i ON flat (predict_pinned(lower(''M@4''), area, rooms, age))'],
        ['m 4', 'INDEX i', 'INDEX i ON flat (predict_pinned(CASE WHEN true THEN ''m@4'' END, area, rooms, age))'],
        ['m 4', 'INDEX i', 'INDEX i ON flat (area) WHERE predict_pinned(''m@4'', area, rooms, age) > 1'],
        ['m 4', 'INDEX i', 'INDEX i ON flat ((ARRAY[1, predict_pinned(''m@4'', area, rooms, age)]))'],
        ['m 4', 'TABLE c', 'TABLE c (name text, score real GENERATED ALWAYS AS (predict_pinned(name, 60, 4, 1)) STORED)'],
        ['a\b 1', 'INDEX i', 'INDEX i ON flat (predict_pinned(''a\b@1'', area, rooms, age))'],
        ['m 4', 'TABLE c', 'TABLE c (score real DEFAULT predict_pinned(''m@4'', 60, 4, 1))'],
        ['m 4', 'DOMAIN d', 'DOMAIN d AS int CHECK (predict_pinned(''m@4'', VALUE, 4, 1) < 1000)'],
        ['m 4', 'DOMAIN d', 'DOMAIN d AS real DEFAULT predict_pinned(''m@4'', 60, 4, 1)'],
        ['m 4', 'VIEW v', 'VIEW v AS SELECT (SELECT max(predict_pinned(''m@4'', area, rooms, age)) FROM flat) AS price'],
        ['m 4', 'VIEW v', 'VIEW v AS WITH f AS (SELECT predict_pinned(''m@4'', area, rooms, age) AS price FROM flat) SELECT price FROM f'],
        ['m 4', 'MATERIALIZED VIEW v', 'MATERIALIZED VIEW v AS SELECT predict_pinned(''m@4'', 60, 4, 1) AS price'],
        ['m 4', 'FUNCTION f', 'FUNCTION f(model text) RETURNS real IMMUTABLE LANGUAGE sql RETURN predict_pinned(model, 60, 4, 1)'],
        ['m 4', 'FUNCTION f', 'FUNCTION f() RETURNS real LANGUAGE sql BEGIN ATOMIC SELECT 1; SELECT max(predict_pinned(''m@4'', area, 4, 1)) FROM flat; END'],
        ['m 4', 'FUNCTION f', 'FUNCTION f(price real DEFAULT predict_pinned(''m@4'', 60, 4, 1)) RETURNS real LANGUAGE sql RETURN price'],
        ['m 4', 'TRIGGER t ON flat', 'TRIGGER t BEFORE UPDATE ON flat FOR EACH ROW WHEN (predict_pinned(''m@4'', NEW.area, 4, 1) > 100) EXECUTE FUNCTION suppress_redundant_updates_trigger()'],
        ['m 4', 'RULE r ON flat', 'RULE r AS ON DELETE TO flat WHERE predict_pinned(''m@4'', OLD.area, 4, 1) > 1000 DO INSTEAD NOTHING']
    ] LOOP
        EXECUTE 'CREATE ' || thing[3];
        BEGIN
            PERFORM unpin_model(replace(thing[1], ' ', '@'));
            RAISE EXCEPTION 'unpinned with % there', thing[3];
        EXCEPTION WHEN object_in_use THEN
            EXECUTE 'DROP ' || thing[2];
        END;
    END LOOP;
END $$;
-- Objects that name no version, or another one, keep no pin; nor do those of a role that may not predict with the model.
CREATE INDEX i ON flat (predict_pinned(NULL, area, rooms, age));
CREATE INDEX j ON flat (predict_pinned('a\b@1', area, rooms, age));
CREATE ROLE regress_stranger;
CREATE SCHEMA strange AUTHORIZATION regress_stranger;
SET ROLE regress_stranger;
CREATE VIEW strange.v AS SELECT predict_pinned('m@4', 60, 4, 1);
CREATE FUNCTION strange.f(model text) RETURNS real IMMUTABLE LANGUAGE sql RETURN predict_pinned(model, 60, 4, 1);
RESET ROLE;
SELECT unpin_model('m@4'), pin_model('m@4');
SELECT grant_model('m', 'regress_stranger');
SELECT unpin_model('m@4');
DROP OWNED BY regress_stranger;
SELECT revoke_model('m', 'regress_stranger');
DROP ROLE regress_stranger;
DROP INDEX i, j;
SELECT unpin_model('m@4'), unpin_model('a\b@1'), drop_model('a\b'), drop_model('m'), drop_model('never');
RESET quote_all_identifiers;

-- Rights: the owner pins; who inserts into an indexed table needs a right to the model.
SELECT load_model('n', file_of('price'));
SELECT pin_model('n@1');
CREATE ROLE regress_pin;
GRANT EXECUTE ON FUNCTION pin_model, unpin_model TO regress_pin;
CREATE INDEX flat_price ON flat (predict_pinned('n@1', area, rooms, age));
GRANT INSERT, SELECT ON flat TO regress_pin;
SET ROLE regress_pin;
SELECT pin_model('n@1');
SELECT unpin_model('n@1');
INSERT INTO flat VALUES (0, 60, 4, 1);
RESET ROLE;
SELECT grant_model('n', 'regress_pin');
SET ROLE regress_pin;
INSERT INTO flat VALUES (0, 60, 4, 1);
RESET ROLE;
DROP OWNED BY regress_pin;
DROP ROLE regress_pin;
-- Transactions: a pin rolls back.
BEGIN;
DROP INDEX flat_price;
SELECT unpin_model('n@1');
SELECT predict_pinned('n@1', 60, 4, 1);
ROLLBACK;
SELECT predict_pinned('n@1', 60, 4, 1);
