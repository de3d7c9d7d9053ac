-- The extension in another schema, removed without a trace, and created again.
SET client_min_messages = warning;
SELECT predict('price', 60, 4, 1);
-- The objects of the extension, and all others that are not PostgreSQL's own, before.
CREATE VIEW objects AS
    SELECT c.oid::regclass::text AS object FROM pg_class AS c WHERE c.relnamespace::regnamespace::text NOT LIKE 'pg\_%'
       AND c.relnamespace <> 'information_schema'::regnamespace
    UNION ALL SELECT p.oid::regprocedure::text FROM pg_proc AS p WHERE p.pronamespace::regnamespace::text NOT LIKE 'pg\_%'
       AND p.pronamespace <> 'information_schema'::regnamespace
    UNION ALL SELECT 'type ' || t.typname FROM pg_type AS t WHERE t.typname LIKE '%pgboost%' OR t.typnamespace::regnamespace::text = 'pgboost_catalog'
    UNION ALL SELECT 'trigger ' || g.tgname FROM pg_trigger AS g WHERE NOT g.tgisinternal
    UNION ALL SELECT 'schema ' || n.nspname FROM pg_namespace AS n WHERE n.nspname NOT LIKE 'pg\_%' AND n.nspname <> 'information_schema';
SELECT object FROM objects ORDER BY object COLLATE "C";
SELECT extname, extversion, extnamespace::regnamespace, obj_description(oid, 'pg_extension') FROM pg_extension WHERE extname = 'pgboost';
-- The tables can be dumped, and are the only ones.
SELECT unnest(extconfig)::regclass AS dumped, unnest(extcondition) AS condition FROM pg_extension WHERE extname = 'pgboost';
-- Who may call what: load, deploy and drop are for those who are granted it.
SELECT p.proname, p.provolatile, p.proparallel, p.prosecdef, p.prosupport <> 0 AS supported, p.proacl IS NULL AS for_all
  FROM pg_proc AS p JOIN pg_depend AS d ON d.objid = p.oid AND d.deptype = 'e'
  JOIN pg_extension AS e ON e.oid = d.refobjid AND e.extname = 'pgboost'
 WHERE p.prokind = 'f' AND p.pronamespace = 'public'::regnamespace ORDER BY p.proname COLLATE "C";
-- Of the internal functions only the one that a view calls, and aggregates run in workers.
SELECT p.oid::regprocedure AS for_all FROM pg_proc AS p WHERE p.pronamespace = 'pgboost_catalog'::regnamespace AND p.proacl IS NULL;
SELECT count(*) AS serial_aggregates FROM pg_proc AS p WHERE p.prokind = 'a' AND p.pronamespace = 'public'::regnamespace AND p.proparallel <> 's';

-- The functions for users, without the aggregates and the schema of the registry, which nobody else may use: few functions, and
-- a query that reads by one of them may run in parallel.
SELECT count(*) FILTER (WHERE p.prokind = 'f' AND p.prorettype <> 'trigger'::regtype) <= 50 AS few, count(DISTINCT p.proname) FILTER (WHERE p.prokind = 'a') AS aggregates,
       string_agg(p.proname, ' ') FILTER (WHERE p.provolatile <> 'v' AND p.proparallel <> 's') AS serial
  FROM pg_proc AS p JOIN pg_depend AS d ON d.objid = p.oid AND d.classid = 'pg_proc'::regclass AND d.deptype = 'e'
 WHERE p.pronamespace = 'public'::regnamespace AND d.refclassid = 'pg_extension'::regclass
   AND d.refobjid IN (SELECT oid FROM pg_extension WHERE extname LIKE 'pgboost%');
SELECT nspacl, pg_get_userbyid(nspowner) = (SELECT pg_get_userbyid(extowner) FROM pg_extension WHERE extname = 'pgboost') AS extensions
  FROM pg_namespace WHERE nspname = 'pgboost_catalog';

DROP EXTENSION pgboost;
SELECT object FROM objects ORDER BY object COLLATE "C";
\set VERBOSITY sqlstate
SELECT predict('price', 60, 4, 1);
\set VERBOSITY default

CREATE SCHEMA "odd Schema";
CREATE EXTENSION pgboost SCHEMA "odd Schema";
\set VERBOSITY sqlstate
SELECT predict('price', 60, 4, 1);
\set VERBOSITY default
SELECT "odd Schema".predict('price', 60, 4, 1);
SELECT "odd Schema".load_model('price', file_of('price'));
SELECT "odd Schema".load_model('price', file_of('price_doubled'));
SELECT "odd Schema".predict('price', 60, 4, 1), "odd Schema".predict('price@1', 60, 4, 1);
SELECT "odd Schema".deploy_model('price@1');
SELECT "odd Schema".model_info('price') ->> 'version' AS version;
SELECT name, version, deployed FROM "odd Schema".pgboost_models ORDER BY version;
SELECT "odd Schema".grant_model('price', 'postgres'), "odd Schema".revoke_model('price', 'postgres');
SELECT "odd Schema".drop_model('price@2');
EXPLAIN (COSTS OFF) SELECT "odd Schema".predict('price', 60, 4, 1);
-- The schema may be renamed, and the extension's functions find their tables.
ALTER SCHEMA "odd Schema" RENAME TO plain;
SELECT plain.predict('price', 60, 4, 1);
SELECT plain.load_model('price', file_of('price_doubled'));
SELECT plain.predict('price', 60, 4, 1);
SET search_path = plain;
SELECT predict('price', 60, 4, 1);
RESET search_path;
ALTER EXTENSION pgboost SET SCHEMA public;
DROP SCHEMA plain;
DROP SCHEMA plain CASCADE;
SELECT object FROM objects ORDER BY object COLLATE "C";

-- Created again, in the same connection: empty, and it works.
CREATE EXTENSION pgboost;
SELECT predict('price', 60, 4, 1);
SELECT load_model('price', file_of('price_doubled'));
SELECT predict('price', 60, 4, 1);
-- Dropped and created within one transaction that rolls back.
BEGIN;
DROP EXTENSION pgboost;
CREATE EXTENSION pgboost;
SELECT count(*) FROM pgboost_models;
SELECT load_model('price', file_of('price'));
SELECT predict('price', 60, 4, 1);
ROLLBACK;
SELECT predict('price', 60, 4, 1);
-- It cannot be created twice.
CREATE EXTENSION pgboost;
CREATE EXTENSION IF NOT EXISTS pgboost;
-- Views that use predict keep the extension from being dropped unawares.
CREATE VIEW scored AS SELECT predict('price', 60, 4, 1) AS p;
DROP EXTENSION pgboost;
SELECT p FROM scored;
DROP EXTENSION pgboost CASCADE;
-- An ordinary user cannot create it.
CREATE ROLE regress_user;
GRANT CREATE ON SCHEMA public TO regress_user;
SET ROLE regress_user;
CREATE EXTENSION pgboost;
RESET ROLE;
DROP OWNED BY regress_user;
DROP ROLE regress_user;
