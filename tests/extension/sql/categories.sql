-- Categorical features: by the names or numbers that the file gives its categories, or by their codes.
\pset null (null)
-- tickets: weekday of mon, tue, sat, sun; zone of 10, 20, 30; hours is a number.
SELECT day, zone, predict('tickets', day, zone, 1) AS text,
       predict('tickets', day::varchar(5), zone::bigint, 1) AS varchar, predict('tickets', day::char(8), zone::numeric, 1) AS char,
       predict('tickets', day::name, zone::real, 1) AS name, predict('tickets', day, zone::float8, 1) AS float8
  FROM (VALUES ('mon', 10), ('tue', 20), ('sat', 10), ('sun', 20)) AS v (day, zone);
SELECT predict('tickets', 'sat', 20, 9) AS literal, predict('tickets', 'sat', 20::smallint, 9) AS int2, predict('tickets', 'mon', 30, 1) AS zero;
SELECT predict('tickets', NULL::text, 10, 1) AS no_day, predict('tickets', 'mon', NULL::int, 1) AS no_zone,
       predict('tickets', NULL, NULL, NULL) AS nothing;

-- Enums, and domains over enums and text.
CREATE TYPE weekday AS ENUM ('sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat');
CREATE DOMAIN working_day AS weekday CHECK (VALUE NOT IN ('sat', 'sun'));
CREATE DOMAIN day_name AS text CHECK (VALUE <> '');
CREATE TABLE rides (id int, weekday weekday, working working_day, named day_name, zone int, hours real);
INSERT INTO rides VALUES (1, 'mon', 'mon', 'sun', 20, 1), (2, 'sun', 'tue', 'mon', 10, 9), (3, NULL, NULL, NULL, 20, 1);
SELECT id, predict('tickets', weekday, zone, hours) AS enum, predict('tickets', working, zone, hours) AS domain_of_enum,
       predict('tickets', named, zone, hours) AS domain_of_text FROM rides ORDER BY id;
SELECT id, predict('tickets', rides) FROM rides ORDER BY id;
SELECT id, predict('tickets', to_jsonb(rides)) FROM rides ORDER BY id;
ALTER TYPE weekday RENAME VALUE 'sun' TO 'Sunday';
SELECT predict('tickets', weekday, zone, hours) FROM rides WHERE id = 2;
ALTER TYPE weekday RENAME VALUE 'Sunday' TO 'sun';

-- An array holds the codes: mon 0, tue 1, sat 2, sun 3; zone 10 is 0, 20 is 1, 30 is 2.
SELECT predict('tickets', ARRAY[2, 1, 9]) AS sat_20, predict('tickets', ARRAY[0, 0, 1]::real[]) AS mon_10, predict('tickets', ARRAY[NULL, NULL, 1]::int[]) AS missing;
SELECT predict('tickets', ARRAY['mon', '20', '1']);

-- jsonb: text for a feature of text, numbers for one of numbers.
SELECT predict('tickets', '{"weekday": "sat", "zone": 20, "hours": 9}'::jsonb) AS plain,
       predict('tickets', '{"weekday": null, "zone": 10, "hours": 1}'::jsonb) AS no_day;
SELECT predict('tickets', '{"weekday": 0, "zone": 20, "hours": 9}'::jsonb);
SELECT predict('tickets', '{"weekday": "sat", "zone": "20", "hours": 9}'::jsonb);
SELECT predict('tickets', '{"weekday": true, "zone": 20, "hours": 9}'::jsonb);

-- Unknown categories are an error.
SELECT predict('tickets', 'wed', 10, 1);
SELECT predict('tickets', 'Mon', 10, 1);
SELECT predict('tickets', ' mon', 10, 1);
SELECT predict('tickets', 'mon ', 10, 1);
SELECT predict('tickets', '', 10, 1);
SELECT predict('tickets', 'wed'::weekday, 10, 1);
SELECT predict('tickets', 'mon', 11, 1);
SELECT predict('tickets', 'mon', 10.5, 1);
SELECT predict('tickets', 'mon', '-Infinity'::float8, 1);
SELECT predict('tickets', '{"weekday": "wed", "zone": 10, "hours": 1}'::jsonb);
SELECT predict('tickets', rides) FROM (SELECT 'wed' AS weekday, 10 AS zone, 1 AS hours) AS rides;
SELECT length(predict_class('flower', 1, 1) || predict('tickets', repeat('long', 1000), 10, 1));
-- A number that is not there is missing, as in pandas.
SELECT predict('tickets', 'mon', 'NaN'::float8, 1) AS nan;

-- Or score as if they were missing: then the weekday counts 1, the zone 2.
SET pgboost.unknown_category = missing;
SELECT day, zone, predict('tickets', day, zone, 1) FROM (VALUES ('mon', 10), ('wed', 10), ('mon', 11), ('wed', 11), (NULL, NULL)) AS v (day, zone);
SELECT predict('tickets', 'wed'::weekday, 10, 1) AS enum, predict('tickets', '{"weekday": "wed", "zone": 99, "hours": 1}'::jsonb) AS jsonb,
       predict('tickets', r) AS row FROM (SELECT 'wed' AS weekday, 10 AS zone, 1 AS hours) AS r;
-- A wrong type is an error all the same.
SELECT predict('tickets', 1, 10, 1);
-- A setting that changes within a session holds from the next statement on.
RESET pgboost.unknown_category;
SELECT predict('tickets', 'wed', 10, 1);
BEGIN;
SET LOCAL pgboost.unknown_category = missing;
SELECT predict('tickets', 'wed', 10, 1);
COMMIT;
SELECT predict('tickets', 'wed', 10, 1);

-- Types that do not fit the feature.
SELECT predict('tickets', 1, 10, 1);
SELECT predict('tickets', 'mon', '10'::text, 1);
SELECT predict('tickets', 'mon', 10, '1'::text);
SELECT predict('tickets', ARRAY['mon'], 10, 1);
SELECT predict('price', 'x'::weekday, 1, 1);
SELECT predict('price', 'mon'::weekday, 1, 1);

-- Codes alone, for a file that names no categories.
SELECT code, predict('codes', code, 1), predict('codes', ARRAY[code, 9]) FROM (VALUES (0), (1), (2), (NULL)) AS v (code);
SELECT predict('codes', 'a', 1);
SELECT predict('codes', 'mon'::weekday, 1);
SELECT predict('codes', '{"code": "a", "x": 1}'::jsonb);
-- As in XGBoost, a code beyond those seen, a fraction or a negative number is no error but goes on as a code.
SELECT code, predict('codes', code, 1) FROM (VALUES (7), (1.9), (-1), (1e9), ('NaN'::float8)) AS v (code);
