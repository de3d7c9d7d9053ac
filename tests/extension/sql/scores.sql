-- Scores that triggers keep: a column, and a second one with the version that made it.
\pset null (null)
CREATE TABLE homes (id integer PRIMARY KEY, area real, rooms integer, age integer, note text);
INSERT INTO homes VALUES (1, 60, 4, 1);
CALL refresh_scores('homes');
SELECT load_model('m', file_of('price'));
SELECT maintain_scores('homes', 'm');
SELECT * FROM homes;
SELECT * FROM pgboost_scores;
CALL refresh_scores('homes');
INSERT INTO homes VALUES (2, 40, 4, 1), (3, NULL, NULL, NULL);
SELECT id, score, score = predict('m', h) AS same, score_version FROM homes AS h ORDER BY id;
SELECT rows_behind FROM pgboost_scores;

-- Another score or version cannot be written; what the model does not read changes nothing.
INSERT INTO homes (id, area, rooms, score, score_version) VALUES (4, 60, 4, 5, 9) RETURNING score, score_version;
UPDATE homes SET score = 7 WHERE id = 4 RETURNING score, score_version;
UPDATE homes SET score_version = 9 WHERE id = 4 RETURNING score, score_version;
UPDATE homes SET area = 40 WHERE id = 4 RETURNING score, score_version;
UPDATE homes SET note = 'kept', rooms = rooms, age = age + 0 WHERE id = 4 RETURNING score, score_version;
SELECT load_model('m', file_of('price_doubled'));
UPDATE homes SET rooms = 2 WHERE id = 4 RETURNING score, score_version;
SELECT name, current_version, rows_behind FROM pgboost_scores;

-- Refreshed in batches, again after a rollback.
CALL refresh_scores('homes', 1);
SELECT count(*) FILTER (WHERE score_version = 2) AS new, count(*) AS all, sum(score - predict('m@2', h)) AS difference FROM homes AS h;
SELECT rollback_model('m');
SELECT current_version, rows_behind FROM pgboost_scores;
CALL refresh_scores('homes');
SELECT current_version, rows_behind FROM pgboost_scores;
CALL refresh_scores('homes', 0);
CALL refresh_scores(NULL);
CALL refresh_scores('homes');
SHOW search_path;
BEGIN;
CALL refresh_scores('homes');
ROLLBACK;

-- COPY, an upsert, a change by another trigger, MERGE, and an update of many rows.
COPY homes (id, area, rooms, age) FROM stdin;
5	60	2	1
6	60	4	1
\.
INSERT INTO homes VALUES (6, 40, 2, 1) ON CONFLICT (id) DO UPDATE SET area = excluded.area RETURNING area, rooms, score;
CREATE FUNCTION regress_grow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.area := NEW.area + 30; RETURN NEW; END $$;
CREATE TRIGGER grow BEFORE UPDATE OF note ON homes FOR EACH ROW EXECUTE FUNCTION regress_grow();
UPDATE homes SET note = 'grown' WHERE id = 2 RETURNING area, score;
MERGE INTO homes USING (VALUES (7), (1)) AS v (id) ON homes.id = v.id
    WHEN MATCHED THEN UPDATE SET area = 1 WHEN NOT MATCHED THEN INSERT (id, area) VALUES (v.id, 70);
SELECT count(*), count(*) FILTER (WHERE score = predict('m', h)) AS same FROM homes AS h;
DROP TRIGGER grow ON homes;

-- Renamed columns, table and model; hostile names.
ALTER TABLE homes RENAME score TO "sc""ore;";
ALTER TABLE homes RENAME score_version TO "ver'sion";
ALTER TABLE homes RENAME TO "Homes; --";
SELECT rename_model('m', 'renamed');
INSERT INTO "Homes; --" VALUES (8, 60, 4, 1);
SELECT "sc""ore;", "ver'sion" FROM "Homes; --" WHERE id = 8;
SELECT relation, score_column, version_column, name FROM pgboost_scores;
SELECT deploy_model('renamed@2');
CALL refresh_scores('"Homes; --"');
SELECT rows_behind FROM pgboost_scores;
ALTER TABLE "Homes; --" DROP COLUMN "sc""ore;";
-- From PostgreSQL 19 on, the detail ends with a full stop.
\set VERBOSITY terse
ALTER TABLE "Homes; --" ALTER COLUMN "sc""ore;" TYPE double precision;
\set VERBOSITY default
ALTER TABLE "Homes; --" RENAME area TO surface;
INSERT INTO "Homes; --" VALUES (9, 60, 4, 1) RETURNING "sc""ore;", "ver'sion";
ALTER TABLE "Homes; --" RENAME surface TO area;

-- The model stays while it is used.
SELECT drop_model('renamed');
SELECT drop_scores('"Homes; --"', 'other');
SELECT drop_scores(NULL);
SELECT drop_scores('"Homes; --"');
SELECT count("sc""ore;") AS kept FROM "Homes; --";
SELECT drop_scores('"Homes; --"');
SELECT count(*) FROM pgboost_scores;
SELECT tgname FROM pg_trigger WHERE tgrelid = '"Homes; --"'::regclass;
SELECT maintain_scores('"Homes; --"', 'renamed', 'sc"ore;', 'ver''sion'), drop_scores('"Homes; --"', drop_columns => true);
SELECT count(*) FROM pg_attribute WHERE attrelid = '"Homes; --"'::regclass AND attnum > 0 AND NOT attisdropped;
DROP TABLE "Homes; --";

-- Partitions, also later ones, and rows that move. Each of the functions; a version, an alias.
CREATE TABLE calls_made (month integer, calls real, months real) PARTITION BY RANGE (month);
CREATE TABLE calls_made_1 PARTITION OF calls_made FOR VALUES FROM (1) TO (2);
SELECT set_alias('churn@1', 'pro\duction');
SELECT maintain_scores('calls_made', 'churn', 'risk'), maintain_scores('calls_made', 'churn@1', 'class', 'class_by', output => 'predict_class'),
       maintain_scores('calls_made', E'churn@pro\\duction', 'margins', output => 'predict_margin');
SELECT maintain_scores('calls_made', 'churn', 'all_classes', output => 'predict_proba'), maintain_scores('calls_made', 'churn', 'array', output => 'predict_array');
CREATE TABLE calls_made_2 (risk_version integer, gone integer, months real, calls real, month integer, risk real, class text, class_by integer, margins real[],
    margins_version integer, all_classes jsonb, all_classes_version integer, "array" real[], array_version integer);
ALTER TABLE calls_made_2 DROP COLUMN gone;
ALTER TABLE calls_made ATTACH PARTITION calls_made_2 FOR VALUES FROM (2) TO (3);
INSERT INTO calls_made VALUES (1, 3, 1), (2, 9, 1);
UPDATE calls_made SET month = 3 - month;
SELECT tableoid::regclass AS partition, calls, risk = predict('churn', c) AS risk, class = predict_class('churn', c) AS class,
       margins = predict_margin('churn', c) AS margins, all_classes = predict_proba('churn', c) AS proba, "array" = predict_array('churn', c) AS "array",
       risk_version, class_by, margins_version FROM calls_made AS c ORDER BY calls;
SELECT relation, score_column, output, version_or_alias, current_version, rows_behind FROM pgboost_scores ORDER BY score_column;
SELECT load_model('churn', file_of('churn'));
SELECT score_column, current_version, rows_behind FROM pgboost_scores ORDER BY score_column;
CALL refresh_scores('calls_made');
SELECT score_column, current_version, rows_behind FROM pgboost_scores ORDER BY score_column;
SELECT drop_scores('calls_made', 'class'), drop_scores('calls_made', 'all_classes', true);
SELECT score_column FROM pgboost_scores ORDER BY 1;
DROP TABLE calls_made;
SELECT count(*) FROM pgboost_scores;
SELECT drop_model('churn');

-- Rows that cannot be scored get NULL with a warning, or an error with on_error => 'error'.
CREATE TABLE strict (area real, rooms text, age integer);
SELECT maintain_scores('strict', 'price');
CREATE TABLE seats (weekday text, zone integer, hours real);
SELECT maintain_scores('seats', 'tickets'), maintain_scores('seats', 'tickets', 'strict', on_error => 'error');
INSERT INTO seats VALUES ('sun', 20, 6) RETURNING score, strict;
INSERT INTO seats VALUES ('sun', 21, 6);
SELECT drop_scores('seats', 'strict');
INSERT INTO seats VALUES ('sun', 21, 6), ('sun', 22, 6), ('sun', 20, 6) RETURNING score, score_version;
UPDATE seats SET zone = 23 WHERE zone = 20 RETURNING score, score_version;
SELECT rows_behind FROM pgboost_scores;
SET pgboost.unknown_category = missing;
CALL refresh_scores('seats');
RESET pgboost.unknown_category;
SELECT rows_behind FROM pgboost_scores;
DROP TABLE seats, strict;

-- A row that is written gets the present version's score, since that version may not read what was written.
CREATE TABLE flats (area real, size real, rooms integer, age integer);
SELECT load_model('own', file_of('price')), load_model('own', file_of('price'), feature_names => '{size,rooms,age}', deploy => false);
SELECT maintain_scores('flats', 'own');
INSERT INTO flats VALUES (60, 60, 4, 1);
SELECT deploy_model('own@2', allow_change => true);
UPDATE flats SET area = 40;
SELECT deploy_model('own@1', allow_change => true);
SELECT score = predict('own', f) AS same, score_version, rows_behind FROM flats AS f, pgboost_scores;
CALL refresh_scores('flats');
SELECT score = predict('own', f) AS same, score_version, rows_behind FROM flats AS f, pgboost_scores;
-- Neither the version nor the alias of a score can be dropped, and no column belongs to two scores.
SELECT load_model('fresh', file_of('price')), set_alias('own@2', 'next');
SELECT maintain_scores('flats', 'own@2', 'second'), maintain_scores('flats', 'own@next', 'later');
SELECT drop_alias('own@next');
SELECT set_alias('own@1', 'next', allow_change => true);
SELECT drop_model('own@2');
TRUNCATE flats;
SELECT maintain_scores('flats', 'fresh', 'second');
SELECT maintain_scores('flats', 'fresh', 'another', 'score_version');
SELECT maintain_scores('flats', 'fresh', 'size');
-- Columns whose triggers would have the same names.
ALTER TABLE flats RENAME score TO former;
SELECT maintain_scores('flats', 'fresh', 'score', 'v'), maintain_scores('flats', 'fresh', 'second_update', output => 'predict_margin');
SELECT load_model('fresh', file_of('price'), feature_names => '{former,rooms,age}', allow_change => true);
INSERT INTO flats VALUES (60, 60, 4, 1) RETURNING former, second, later, score, second_update;
SELECT deploy_model('fresh@1', allow_change => true);
CALL refresh_scores('flats');
SELECT former, second, later, score, second_update FROM flats;
-- Triggers go with their columns.
ALTER TABLE flats DROP COLUMN second CASCADE;
UPDATE flats SET second_version = NULL;
SELECT maintain_scores('flats', 'own@2', 'second');
ALTER TABLE flats DROP COLUMN second_version CASCADE;
SELECT drop_model('own@2');
SELECT count(*) AS triggers FROM pg_trigger WHERE tgrelid = 'flats'::regclass;
DROP TABLE flats;
SELECT drop_model('own'), drop_model('fresh');

-- A child table has the scores that it keeps itself; partitions have those of their table, also on a replica.
CREATE TABLE lots (area real, rooms integer, age integer);
CREATE TABLE lots_more () INHERITS (lots);
SELECT maintain_scores('lots', 'price');
INSERT INTO lots VALUES (60, 4, 1);
INSERT INTO lots_more VALUES (60, 4, 1);
SELECT relation, rows_behind FROM pgboost_scores;
SELECT maintain_scores('lots_more', 'price');
SELECT relation, rows_behind FROM pgboost_scores ORDER BY relation;
CALL refresh_scores('lots');
SELECT tableoid::regclass, score FROM lots ORDER BY 1;
DROP TABLE lots CASCADE;
CREATE TABLE parts (area real, rooms integer, age integer) PARTITION BY LIST (rooms);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES IN (1);
SELECT maintain_scores('parts', 'price', replicated => true);
CREATE TABLE parts_2 PARTITION OF parts FOR VALUES IN (4);
SET session_replication_role = replica;
INSERT INTO parts VALUES (60, 1, 1), (60, 4, 1) RETURNING score, score_version;
RESET session_replication_role;
DROP TABLE parts;

-- Names are cut as PostgreSQL cuts them.
CREATE TABLE cut (area real, rooms integer, age integer);
SELECT maintain_scores('cut', 'price', repeat('é', 40));
SELECT score_column, version_column FROM pgboost_scores;
SELECT maintain_scores('cut', 'price', repeat('é', 40));
DROP TABLE cut;

-- Errors.
CREATE TABLE places (area real, rooms integer, age integer, half real GENERATED ALWAYS AS (area / 2) STORED, taken text);
CREATE VIEW places_seen AS SELECT * FROM places;
SELECT maintain_scores('places_seen', 'price');
SELECT maintain_scores('none', 'price');
SELECT maintain_scores(NULL, 'price');
SELECT maintain_scores('places', 'none');
SELECT maintain_scores('places', 'price@9');
SELECT maintain_scores('places', 'flower');
SELECT maintain_scores('places', 'price', 'taken');
SELECT maintain_scores('places', 'price', 'score', 'taken');
SELECT maintain_scores('places', 'price', 'both', 'both');
SELECT maintain_scores('places', 'price', repeat('a', 55) || '_version');
SELECT maintain_scores('places', 'price', repeat('é', 32), repeat('é', 31));
SELECT maintain_scores('places', 'price', output => 'predict_leaf');
SELECT maintain_scores('places', 'price', on_error => 'ignore');
SELECT load_model('generated', file_of('price'), feature_names => '{half,rooms,age}');
SELECT maintain_scores('places', 'generated');
-- Nothing that is not a score is overwritten, and no score is made of itself.
INSERT INTO places VALUES (60, 4, 1);
ALTER TABLE places ADD sold real DEFAULT 100;
SELECT maintain_scores('places', 'price', 'area');
SELECT maintain_scores('places', 'price', 'score', 'rooms');
SELECT maintain_scores('places', 'price', 'half');
SELECT maintain_scores('places', 'price', 'sold');
UPDATE places SET sold = NULL;
SELECT maintain_scores('places', 'price', 'sold');
CALL refresh_scores('places');
SELECT load_model('reads', file_of('price'), feature_names => '{sold,rooms,age}');
SELECT maintain_scores('places', 'reads');
SELECT load_model('price', file_of('price'), feature_names => '{sold,rooms,age}', allow_change => true);
INSERT INTO places VALUES (60, 4, 1) RETURNING sold;
SELECT deploy_model('price@1', allow_change => true), drop_scores('places', 'sold', true);
SELECT maintain_scores('places', 'price');
SELECT maintain_scores('places', 'price', 'again');
\set VERBOSITY terse
SELECT maintain_scores('places', 'price_doubled');
\set VERBOSITY default
SELECT load_model('price', file_of('price'), feature_names => '{half,rooms,age}', allow_change => true);
INSERT INTO places VALUES (60, 4, 1) RETURNING score;
CREATE TRIGGER wrong AFTER INSERT ON places FOR EACH ROW EXECUTE FUNCTION pgboost_maintain_score('x');
INSERT INTO places VALUES (60, 4, 1);
DROP TRIGGER wrong ON places;
CREATE TRIGGER wrong BEFORE INSERT OR UPDATE OF area, rooms ON places FOR EACH ROW EXECUTE FUNCTION pgboost_maintain_score('x', E'\\000', 'y', 'z', 'more');
SELECT relation, score_column, rows_behind FROM pgboost_scores;
INSERT INTO places VALUES (60, 4, 1);
DROP TABLE places CASCADE;

-- A trigger whose name sorts later changes what the score was made of.
CREATE TABLE lots (area real, rooms integer, age integer);
CREATE FUNCTION halve() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.area := NEW.area / 2; RETURN NEW; END';
CREATE TRIGGER zzz_more BEFORE INSERT ON lots FOR EACH ROW EXECUTE FUNCTION halve();
CREATE TRIGGER zzz_after AFTER INSERT ON lots FOR EACH ROW EXECUTE FUNCTION halve();
CREATE TRIGGER zzz_off BEFORE INSERT ON lots FOR EACH ROW EXECUTE FUNCTION halve();
ALTER TABLE lots DISABLE TRIGGER zzz_off;
SELECT maintain_scores('lots', 'price_doubled');
SELECT drop_scores('lots');
ALTER TRIGGER zzz_more ON lots RENAME TO more;
SELECT maintain_scores('lots', 'price_doubled');
INSERT INTO lots VALUES (80, 4, 1) RETURNING score = predict('price_doubled', 40, 4, 1) AS same;
DROP TABLE lots;
CREATE TABLE lots (area real, rooms integer, age integer) PARTITION BY RANGE (area);
CREATE TABLE lots_small PARTITION OF lots FOR VALUES FROM (0) TO (50);
CREATE TRIGGER zzz BEFORE INSERT ON lots_small FOR EACH ROW EXECUTE FUNCTION halve();
SELECT maintain_scores('lots', 'price_doubled');
DROP TABLE lots;
DROP FUNCTION halve;

-- The score is made with the rights of the table's owner: a writer need not predict, and an owner must.
CREATE ROLE regress_owner;
CREATE ROLE regress_writer;
CREATE SCHEMA regress_homes AUTHORIZATION regress_owner;
GRANT USAGE ON SCHEMA regress_homes TO regress_writer;
SET ROLE regress_owner;
CREATE TABLE regress_homes.t (id serial, area real, rooms integer, age integer);
GRANT USAGE ON SEQUENCE regress_homes.t_id_seq TO regress_writer;
GRANT INSERT, SELECT, UPDATE ON regress_homes.t TO regress_writer;
SELECT maintain_scores('regress_homes.t', 'price_doubled');
RESET ROLE;
SELECT grant_model('price_doubled', 'regress_owner');
SET ROLE regress_writer;
SELECT maintain_scores('regress_homes.t', 'price_doubled');
SET ROLE regress_owner;
SELECT maintain_scores('regress_homes.t', 'price_doubled');
ALTER TABLE regress_homes.t ENABLE ROW LEVEL SECURITY;
CREATE POLICY p ON regress_homes.t TO regress_writer USING (area < 50) WITH CHECK (score IS NOT NULL);
SET ROLE regress_writer;
SELECT predict('price_doubled', 60, 4, 1);
INSERT INTO regress_homes.t (area, rooms) VALUES (40, 4), (60, 4);
SELECT area, score FROM regress_homes.t;
SELECT relation, name, rows_behind FROM pgboost_scores;
RESET ROLE;
SELECT revoke_model('price_doubled', 'regress_owner');
SET ROLE regress_writer;
UPDATE regress_homes.t SET rooms = 1;
RESET ROLE;
SET ROLE regress_owner;
UPDATE regress_homes.t SET rooms = 1;
SELECT area, score FROM regress_homes.t ORDER BY area;
RESET ROLE;
-- One who may not predict with a model cannot keep it either.
SELECT drop_model('price_doubled');
DROP OWNED BY regress_owner, regress_writer;
DROP ROLE regress_owner;
DROP ROLE regress_writer;
