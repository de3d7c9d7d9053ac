-- Attacks: by the search path, by objects made in advance, and by writing the tables.
\pset null (null)
SET client_min_messages = warning;
CREATE ROLE regress_attacker;
CREATE ROLE regress_victim;
CREATE SCHEMA attack AUTHORIZATION regress_attacker;
GRANT USAGE ON SCHEMA attack TO PUBLIC;
GRANT EXECUTE ON FUNCTION load_model, deploy_model, drop_model TO regress_victim, regress_attacker;

SELECT grant_model('churn', 'regress_attacker');

-- No role can read or write the tables, not even one that may use their schema.
SET ROLE regress_attacker;
SELECT count(*) FROM pgboost_catalog.model;
SELECT pgboost_catalog.registry_changed();
CREATE FUNCTION pgboost_catalog.f() RETURNS integer LANGUAGE sql AS 'SELECT 1';
RESET ROLE;
GRANT USAGE ON SCHEMA pgboost_catalog TO regress_attacker;
SET ROLE regress_attacker;
SELECT count(*) FROM pgboost_catalog.model;
SELECT bytes FROM pgboost_catalog.file_part;
SELECT count(*) FROM pgboost_catalog.privilege;
INSERT INTO pgboost_catalog.privilege VALUES (gen_random_uuid(), 'regress_attacker', 'owner');
UPDATE pgboost_catalog.model SET deployed = 1;
DELETE FROM pgboost_catalog.version;
TRUNCATE pgboost_catalog.model CASCADE;
BEGIN;
LOCK TABLE pgboost_catalog.model IN ACCESS SHARE MODE;
ROLLBACK;
INSERT INTO pgboost_models (name) VALUES ('x');
ALTER TABLE pgboost_catalog.model DISABLE TRIGGER ALL;
CREATE TRIGGER t AFTER INSERT ON pgboost_catalog.model EXECUTE FUNCTION pgboost_catalog.registry_changed();
SELECT pgboost_catalog.registry_changed();
SELECT has_function_privilege('pgboost_catalog.predict_support(internal)', 'EXECUTE');

-- A function in the view's WHERE sees only what the view shows.
CREATE FUNCTION attack.peek(name text) RETURNS boolean LANGUAGE plpgsql COST 0.0001 AS $$
BEGIN
    RAISE NOTICE 'saw %', name;
    RETURN true;
END $$;
SET client_min_messages = notice;
SELECT name FROM pgboost_models WHERE attack.peek(name);
SET client_min_messages = warning;

-- Operators, functions, tables and types of the names that the extension uses, first on the path.
SET search_path = attack, public;
CREATE FUNCTION attack.taken(anyelement, anyelement) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'attacked as %', current_user;
END $$;
CREATE OPERATOR attack.= (FUNCTION = attack.taken, LEFTARG = anyelement, RIGHTARG = anyelement);
CREATE OPERATOR attack.+ (FUNCTION = attack.taken, LEFTARG = anyelement, RIGHTARG = anyelement);
CREATE FUNCTION attack.taken_text(text, text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'attacked as %', current_user;
END $$;
CREATE OPERATOR attack.= (FUNCTION = attack.taken_text, LEFTARG = text, RIGHTARG = text);
CREATE FUNCTION attack.taken_int(int, int) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'attacked as %', current_user;
END $$;
CREATE OPERATOR attack.= (FUNCTION = attack.taken_int, LEFTARG = int, RIGHTARG = int);
CREATE FUNCTION attack.sha256(bytea) RETURNS bytea LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'attacked as %', current_user; END $$;
CREATE FUNCTION attack.now() RETURNS timestamptz LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'attacked as %', current_user; END $$;
CREATE FUNCTION attack.octet_length(bytea) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'attacked as %', current_user; END $$;
CREATE FUNCTION attack.pg_has_role(oid, text) RETURNS boolean LANGUAGE sql AS $$ SELECT true $$;
CREATE FUNCTION attack.pg_has_role(regrole, text) RETURNS boolean LANGUAGE sql AS $$ SELECT true $$;
CREATE FUNCTION attack.encode(bytea, text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'attacked as %', current_user; END $$;
CREATE TABLE attack.model (name text PRIMARY KEY, deployed int, last_version int);
CREATE TABLE attack.version (LIKE public.model_file);
CREATE TABLE attack.privilege (model text, role regrole, privilege text);
INSERT INTO attack.privilege VALUES ('price', 'regress_attacker', 'owner');
CREATE DOMAIN attack.regrole AS text CHECK (VALUE IS NULL);
CREATE VIEW attack.pg_roles AS SELECT 'regress_attacker'::name AS rolname, true AS rolsuper;
GRANT SELECT ON ALL TABLES IN SCHEMA attack TO PUBLIC;
SELECT name FROM pgboost_models;
SELECT predict('price', 60, 4, 1);
SELECT model_info('price');
SELECT load_model('price', public.file_of('price'));

-- The superuser, and another role, call ours with that path, and run nothing of the attacker's.
RESET ROLE;
SELECT name, version FROM pgboost_models WHERE name LIKE 'pri%';
SELECT load_model('m', content) FROM model_file WHERE name LIKE 'price';
SELECT load_model('m', content) FROM model_file WHERE name LIKE 'price';
SELECT predict('m', 60, 4, 1), predict('m@1', 60, 4, 1);
SELECT deploy_model('m@1');
SELECT grant_model('m', 'regress_victim');
SELECT jsonb_pretty(model_info('m') - ARRAY['loaded_at', 'deployed_at', 'sha256'] - 'attributes');
SELECT feature FROM model_features('m') WHERE type LIKE 'num%';
SELECT feature FROM feature_importance('m', 'weight');
SELECT length(export_model('m@2'));
SET ROLE regress_victim;
SELECT predict('m', 60, 4, 1);
SELECT load_model('v', content) FROM model_file WHERE name LIKE 'price';
SELECT name, owner FROM pgboost_models ORDER BY name COLLATE "C";
SELECT drop_model('v');
RESET ROLE;
SELECT revoke_model('m', 'regress_victim');
SELECT drop_model('m@2');
SELECT drop_model('m');
-- The same with pg_temp and pg_catalog last.
SET search_path = pg_temp, attack, public, pg_catalog;
SELECT load_model('m', content), predict('price', 60, 4, 1) FROM model_file WHERE name LIKE 'price';
SELECT model_info('m') ->> 'objective' AS objective;
SELECT drop_model('m');
RESET search_path;

-- A trigger or a rule cannot be put on the tables, nor the tables be taken over.
SET ROLE regress_attacker;
CREATE RULE r AS ON INSERT TO pgboost_catalog.model DO ALSO SELECT attack.taken(1, 1);
COMMENT ON TABLE pgboost_catalog.model IS 'mine';
DROP TABLE pgboost_catalog.model CASCADE;
ALTER EXTENSION pgboost ADD TABLE attack.model;

-- The writer's identity does not stay switched after an error in the middle of a write.
RESET ROLE;
ALTER TABLE pgboost_catalog.version ADD CONSTRAINT never CHECK (version < 0) NOT VALID;
SET ROLE regress_victim;
\set VERBOSITY terse
SELECT load_model('never', file_of('price'));
\set VERBOSITY default
SELECT current_user, session_user = current_user AS is_session_user, current_setting('search_path') AS search_path;
SELECT count(*) FROM pgboost_catalog.model;
DO $$
BEGIN
    PERFORM load_model('never', file_of('price'));
EXCEPTION WHEN check_violation THEN
    RAISE WARNING 'caught as %, path %', current_user, current_setting('search_path');
END $$;
RESET ROLE;
ALTER TABLE pgboost_catalog.version DROP CONSTRAINT never;
SELECT predict('never', 60, 4, 1);

DROP SCHEMA attack CASCADE;
DROP OWNED BY regress_victim, regress_attacker;

DROP ROLE regress_attacker, regress_victim;
