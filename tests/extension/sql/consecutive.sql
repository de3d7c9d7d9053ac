-- The results of one statement are reused by the next, unless anything has changed.
\pset null (null)
CREATE TABLE homes (id int, area real, rooms int, age int);
INSERT INTO homes VALUES (1, 40, 2, 1), (2, 60, 2, 1), (3, 60, 4, NULL);
SELECT load_model('m', file_of('price'));
PREPARE by_columns AS SELECT id, predict('m', area, rooms, age) FROM homes ORDER BY id;
PREPARE by_row AS SELECT id, predict('m', homes) FROM homes ORDER BY id;
EXECUTE by_columns;
EXECUTE by_columns;
EXECUTE by_row;
EXECUTE by_row;

-- Another version: of other values, of features in another order, of another number of features.
SELECT load_model('m', file_of('price_doubled'));
EXECUTE by_columns;
EXECUTE by_row;
SELECT load_model('m', file_of('price'), feature_names => ARRAY['rooms', 'area', 'age'], allow_change => true);
EXECUTE by_columns;
EXECUTE by_row;
SELECT load_model('m', file_of('churn'), allow_change => true);
EXECUTE by_columns;
EXECUTE by_row;
SELECT deploy_model('m@1', allow_change => true);
EXECUTE by_columns;
EXECUTE by_row;

-- A version that is rolled back, and a snapshot from before a change.
BEGIN;
SELECT deploy_model('m@2');
EXECUTE by_columns;
ROLLBACK;
EXECUTE by_columns;
BEGIN;
DECLARE before CURSOR FOR SELECT id, predict('m', area, rooms, age) FROM homes ORDER BY id;
FETCH 1 FROM before;
SELECT deploy_model('m@2');
EXECUTE by_columns;
FETCH 1 FROM before;
EXECUTE by_columns;
CLOSE before;
EXECUTE by_columns;
ROLLBACK;
EXECUTE by_columns;

-- The same model with arguments of other types, and in other forms.
SELECT predict('m', 60, 4, 1), predict('m', 60.0, 4.0, 1.0), predict('m', 60::float8, 4::smallint, NULL::real);
SELECT predict('m', ARRAY[60, 4, 1]), predict('m', ARRAY[60.0, 4, 1]), predict('m', '{"area": 60, "rooms": 4, "age": null}'::jsonb);
SELECT load_model('tickets', file_of('tickets'));
PREPARE ticket AS SELECT predict('tickets', $1::text, $2::int, $3::real);
EXECUTE ticket('sat', 20, 1);
EXECUTE ticket('nonsense', 20, 1);
SET pgboost.unknown_category = missing;
EXECUTE ticket('nonsense', 20, 1);
RESET pgboost.unknown_category;
SELECT predict('tickets', 'sat'::varchar, 20::bigint, 1), predict('tickets', 'mon'::name, 10.0, 5);
SELECT predict('m', 60, 4);
SELECT predict('m', '60'::text, 4, 1);
EXECUTE by_columns;

-- A table whose columns change places between two statements.
ALTER TABLE homes DROP COLUMN area;
EXECUTE by_row;
ALTER TABLE homes ADD COLUMN area numeric DEFAULT 60;
EXECUTE by_row;
ALTER TABLE homes RENAME COLUMN rooms TO age_;
ALTER TABLE homes RENAME COLUMN age TO rooms;
ALTER TABLE homes RENAME COLUMN age_ TO age;
EXECUTE by_row;

-- An error on the way leaves nothing behind that the next statement would stumble on.
CREATE FUNCTION fails_at(i int, value real) RETURNS real LANGUAGE plpgsql AS $$
BEGIN
    IF i = 3 THEN RAISE EXCEPTION 'row %', i; END IF;
    RETURN value;
END $$;
SELECT i, predict('m', fails_at(i, 60), 4::real, 1::real) FROM generate_series(1, 4) AS i;
SELECT i, predict('m', fails_at(i, 60), 4::real, 1::real) FROM generate_series(1, 2) AS i;

-- Two of the same kind at once, one within the other.
CREATE FUNCTION price_of(area real) RETURNS real LANGUAGE plpgsql AS $$
BEGIN
    RETURN predict('m', area, 2::real, 1::real);
END $$;
SELECT i, predict('m', price_of(i), 2::real, 1::real), price_of(i) FROM generate_series(40, 60, 20) AS i;
SELECT i, predict('m', price_of(i), 2::real, 1::real), price_of(i) FROM generate_series(40, 60, 20) AS i;

-- More models than are kept, in turn, twice.
SELECT count(load_model('many' || i, file_of(CASE WHEN i % 2 = 0 THEN 'price' ELSE 'price_doubled' END))) FROM generate_series(1, 40) AS i;
SELECT sum(predict('many' || i, 60, 4, 1)) FROM generate_series(1, 40) AS i, generate_series(1, 2);
DO $$
DECLARE
    total real = 0;
    one real;
BEGIN
    FOR turn IN 1..2 LOOP
        FOR i IN 1..40 LOOP
            EXECUTE format('SELECT predict(%L, 60, 4, 1)', 'many' || i) INTO one;
            total = total + one;
        END LOOP;
    END LOOP;
    RAISE NOTICE '%', total;
END $$;

-- A model that is dropped, and another by its name.
SELECT drop_model('m');
EXECUTE by_columns;
SELECT load_model('m', file_of('price_doubled'));
SELECT predict('m', 60, 4, 1), predict('m', ARRAY[60, 4, 1]);
