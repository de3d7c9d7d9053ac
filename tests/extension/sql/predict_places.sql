-- The places where PostgreSQL runs expressions in its own ways: functions, constraints, policies, triggers, aggregates.
\pset null (null)

-- Functions whose arguments take the types of each call.
CREATE FUNCTION by_sql(VARIADIC features anyarray) RETURNS text LANGUAGE sql STABLE AS $$ SELECT predict_class('flower', features) $$;
CREATE FUNCTION by_plpgsql(a anyelement, b anyelement) RETURNS text LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN predict_class('flower', a, b);
END $$;
CREATE FUNCTION by_record(r record) RETURNS text LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN predict_class('flower', r);
END $$;
SELECT by_sql(1, 2), by_sql(3.5, 2.0), by_sql(5::real, 1::real), by_plpgsql(1, 2), by_plpgsql(3.5, 1.0), by_plpgsql(5::real, 1::real), by_plpgsql(true, false);
SELECT by_record(a), by_record(b) FROM (SELECT 1 AS length, 2 AS width) AS a, (SELECT 3.0 AS width, 'x' AS more, 5::bigint AS length) AS b;

-- A value that no function state comes with: the transition function of an aggregate, which names the next model.
CREATE AGGREGATE hop(VARIADIC "any") (sfunc = predict_class, stype = text, initcond = 'flower');
SELECT load_model('next', file_of('flower'), labels => ARRAY['flower', 'next', 'flower_class']);
SELECT load_model('flower', file_of('flower'), labels => ARRAY['flower', 'next', 'churn'], allow_change => true);
SELECT hop(x, 1) FROM (SELECT 1 UNION ALL SELECT 3) AS v (x);
SELECT hop(x, 1::real) FROM unnest(ARRAY[3, 3, 5]::numeric[]) AS x;
SELECT hop(x, 1) OVER (ORDER BY i) FROM unnest(ARRAY[1, 3, 3, 1]) WITH ORDINALITY AS v (x, i);

-- Domains, checks, defaults, conditions of COPY, and ALTER TABLE.
CREATE DOMAIN long AS real CHECK (predict_class('flower', VALUE, 1) = 'churn');
SELECT 5::long;
SELECT 1::long;
CREATE TABLE checked (x real CHECK (predict_class('flower', x, 1) <> 'flower'), class text DEFAULT predict_class('flower', 3, 1));
INSERT INTO checked VALUES (5);
INSERT INTO checked VALUES (1);
COPY checked (x) FROM stdin WHERE predict_class('flower', x, 1) = 'churn';
3
7
\.
SELECT * FROM checked ORDER BY x;
ALTER TABLE checked ADD COLUMN margin real DEFAULT predict('price', 60, 4, 1);
ALTER TABLE checked ALTER margin TYPE text USING predict_class('flower', x, 1) || margin;
SELECT * FROM checked ORDER BY x;
CREATE MATERIALIZED VIEW classes AS SELECT x, predict_class('flower', x, 1) FROM checked;
SELECT deploy_model('flower@1', allow_change => true);
SELECT * FROM classes ORDER BY x;
REFRESH MATERIALIZED VIEW classes;
SELECT * FROM classes ORDER BY x;
MERGE INTO checked USING (VALUES (9), (3)) AS v (y) ON predict_class('flower', v.y, 1) = 'virginica' AND x = v.y
    WHEN NOT MATCHED THEN INSERT (x) VALUES (v.y);
SELECT x FROM checked ORDER BY x;

-- Policies, which run with the rights of the one who asks.
SET client_min_messages = warning;
CREATE ROLE regress_places;
CREATE TABLE rows (x real);
INSERT INTO rows VALUES (1), (3), (5);
ALTER TABLE rows ENABLE ROW LEVEL SECURITY;
CREATE POLICY long ON rows USING (predict_class('flower', x, 1) = 'virginica');
GRANT SELECT ON rows TO regress_places;
SET ROLE regress_places;
SELECT x FROM rows;
RESET ROLE;
SELECT grant_model('flower', 'regress_places');
SET ROLE regress_places;
SELECT x FROM rows;
RESET ROLE;
DROP OWNED BY regress_places;
SELECT revoke_model('flower', 'regress_places');
DROP ROLE regress_places;
RESET client_min_messages;

-- Triggers that run at the end of the transaction, with the models as they then are.
CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE NOTICE '% is %', NEW.x, predict_class('flower', NEW.x, 1);
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER at_commit AFTER INSERT ON rows DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION tell();
BEGIN;
INSERT INTO rows VALUES (3);
SELECT deploy_model('flower@2', allow_change => true);
COMMIT;

-- Values that are stored compressed or out of line, and rows made of them.
CREATE TABLE long_numbers AS SELECT ('3.' || repeat('0123456789', 1200))::numeric AS length, repeat('x', 100000) AS junk, 1.0 AS width;
ALTER TABLE long_numbers ALTER length SET STORAGE EXTERNAL;
INSERT INTO long_numbers SELECT length + 2, junk, width FROM long_numbers;
SELECT predict_class('flower', length, width), predict_class('flower', n), predict_class('flower', ARRAY[length, width]),
       predict_class('flower', to_jsonb(n)) FROM long_numbers AS n ORDER BY length;

-- Rows, and no rows, in one expression.
SELECT load_model('numbered', file_of('flower'), feature_names => ARRAY['f1', 'f2']);
SELECT predict_class('numbered', CASE WHEN i <> 2 THEN ROW(i, 2) END) FROM generate_series(1, 3) AS i;
SELECT predict_class('numbered', NULL::record), predict_class('numbered', r) FROM (SELECT NULL::record) AS v (r);
-- Models in turn by one expression, with as many features or not.
SELECT i, predict_class(CASE WHEN i % 2 = 0 THEN 'numbered' ELSE 'flower' END, i, i) FROM generate_series(1, 4) AS i;
SELECT m, predict_array(m, VARIADIC f) FROM (VALUES ('price', ARRAY[60, 4, 1]), ('churn', ARRAY[9, 5]), ('price', ARRAY[40, 2, 1]), ('flower', ARRAY[1, 1])) AS v (m, f);
