-- What ALTER EXTENSION pgboost UPDATE runs for a database of release 1.0.0.
--
-- The tables change in place, so that publications, grants and triggers of others on them stay. A model was its
-- name; it is an id now, which is made of the name here, so that all nodes of a cluster and both ends of a
-- subscription come to the same ids. Versions keep the numbers that they gave: a real and a category in an array
-- stay what they were to them.
--
-- Backends with the library of 1.0.0 find no table of the name that files had, and end their statements
-- with an error, until they connect again.
\echo Use "ALTER EXTENSION pgboost UPDATE" to load this file. \quit

-- Triggers of others, such as those of pgboost_citus, are not to carry these changes elsewhere.
SET LOCAL session_replication_role = replica;

-- Views have no columns of the tables while these change; views of users on them stay.
CREATE OR REPLACE VIEW @extschema@.pgboost_aliases WITH (security_barrier) AS
    SELECT NULL::pg_catalog.text COLLATE "C" AS name, NULL::pg_catalog.text COLLATE "C" AS alias,
           NULL::integer AS version;
CREATE OR REPLACE VIEW @extschema@.pg_stat_pgboost WITH (security_barrier) AS
    SELECT NULL::pg_catalog.text COLLATE "C" AS name, NULL::integer AS version, NULL::boolean AS deployed,
           NULL::bigint AS calls, NULL::bigint AS rows, NULL::bigint AS batches,
           NULL::double precision AS total_time, NULL::bigint AS missing_rows, NULL::bigint AS outside_rows,
           NULL::timestamp with time zone AS last_used;
CREATE OR REPLACE VIEW @extschema@.pgboost_models WITH (security_barrier) AS
    SELECT NULL::pg_catalog.text COLLATE "C" AS name, NULL::integer AS version, NULL::boolean AS deployed,
           NULL::pg_catalog.regrole AS owner, NULL::pg_catalog.text AS objective, NULL::integer AS features,
           NULL::integer AS outputs, NULL::integer AS trees, NULL::integer AS rounds,
           NULL::integer AS used_rounds, NULL::integer AS best_rounds, NULL::integer AS depth,
           NULL::pg_catalog.text AS format, NULL::pg_catalog.text AS library_version, NULL::integer AS size,
           NULL::pg_catalog.text AS loaded_by, NULL::timestamp with time zone AS loaded_at,
           NULL::timestamp with time zone AS deployed_at, NULL::boolean AS pinned;
DROP FUNCTION pgboost_catalog.statistics(text, integer);

CREATE FUNCTION pgboost_catalog.id_of(name text) RETURNS uuid
    LANGUAGE sql IMMUTABLE STRICT SET search_path = pg_catalog, pg_temp
    AS $$ SELECT pg_catalog.encode(pg_catalog.substr(pg_catalog.sha256(pg_catalog.convert_to(name,
        pg_catalog.getdatabaseencoding()::pg_catalog.name)), 1, 16), 'hex')::pg_catalog.uuid $$;

ALTER TABLE pgboost_catalog.model
    ADD COLUMN id uuid,
    ADD COLUMN comment text,
    ADD COLUMN unknown_category text COLLATE "C" CONSTRAINT model_unknown_category
        CHECK (unknown_category OPERATOR(pg_catalog.=) ANY (ARRAY['error', 'missing', 'library']));
ALTER TABLE pgboost_catalog.model
    ALTER COLUMN id TYPE uuid USING pgboost_catalog.id_of(name);
ALTER TABLE pgboost_catalog.model
    ALTER COLUMN id SET DEFAULT pg_catalog.gen_random_uuid(),
    ALTER COLUMN name SET NOT NULL,
    DROP CONSTRAINT model_pkey,
    ADD CONSTRAINT model_pkey PRIMARY KEY (id),
    ADD CONSTRAINT model_name_key UNIQUE (name);

ALTER TABLE pgboost_catalog.version
    ALTER COLUMN model TYPE uuid USING pgboost_catalog.id_of(model),
    ADD COLUMN task text NOT NULL DEFAULT '',
    ADD COLUMN link text NOT NULL DEFAULT '',
    ADD COLUMN real_input text NOT NULL DEFAULT 'float32',
    ADD COLUMN array_categories text NOT NULL DEFAULT 'codes',
    ADD COLUMN comment text;
ALTER TABLE pgboost_catalog.version
    ALTER COLUMN task DROP DEFAULT,
    ALTER COLUMN link DROP DEFAULT,
    ALTER COLUMN real_input DROP DEFAULT,
    ALTER COLUMN array_categories DROP DEFAULT,
    ALTER COLUMN array_categories TYPE text
        USING CASE WHEN pg_catalog.starts_with(format, 'catboost') THEN 'values' ELSE 'codes' END;

ALTER TABLE pgboost_catalog.part RENAME TO file_part;
ALTER TABLE pgboost_catalog.file_part RENAME CONSTRAINT part_pkey TO file_part_pkey;
ALTER TABLE pgboost_catalog.file_part
    ALTER COLUMN model TYPE uuid USING pgboost_catalog.id_of(model);

-- Numbers of roles that were dropped.
DELETE FROM pgboost_catalog.privilege AS p
    WHERE p.role OPERATOR(pg_catalog.<>) 0::pg_catalog.oid
      AND NOT EXISTS (SELECT FROM pg_catalog.pg_roles AS r WHERE r.oid OPERATOR(pg_catalog.=) p.role);
ALTER TABLE pgboost_catalog.privilege
    ALTER COLUMN model TYPE uuid USING pgboost_catalog.id_of(model),
    DROP CONSTRAINT privilege_privilege_check,
    ADD CONSTRAINT privilege_privilege_check
        CHECK (privilege OPERATOR(pg_catalog.=) ANY (ARRAY['owner', 'predict', 'inspect']));
CREATE INDEX privilege_role ON pgboost_catalog.privilege (role);
COMMENT ON TABLE pgboost_catalog.privilege IS
    'pgboost: who owns a model, and who may predict with it or inspect it; role - is everybody';

ALTER TABLE pgboost_catalog.alias ALTER COLUMN model TYPE uuid USING pgboost_catalog.id_of(model);
ALTER TABLE pgboost_catalog.function ALTER COLUMN model TYPE uuid USING pgboost_catalog.id_of(model);
ALTER TABLE pgboost_catalog.baseline ALTER COLUMN model TYPE uuid USING pgboost_catalog.id_of(model);
ALTER TABLE pgboost_catalog.pinned RENAME COLUMN model TO name;

DROP FUNCTION pgboost_catalog.id_of(text);

CREATE TYPE pgboost_catalog.model_privileges AS ENUM ();
REVOKE ALL ON TYPE pgboost_catalog.model_privileges FROM PUBLIC;
COMMENT ON TYPE pgboost_catalog.model_privileges IS
    'pgboost: granted to each role that owns a model or may predict with one';

SELECT pg_catalog.pg_extension_config_dump('pgboost_catalog.privilege',
    'WHERE role OPERATOR(pg_catalog.=) 0::pg_catalog.oid OR EXISTS (SELECT FROM pg_catalog.pg_type AS t, '
    'pg_catalog.aclexplode(t.typacl) AS a WHERE t.oid OPERATOR(pg_catalog.=) '
    '''pgboost_catalog.model_privileges''::pg_catalog.regtype '
    'AND a.grantee OPERATOR(pg_catalog.=) role)');

CREATE FUNCTION pgboost_catalog.privilege_changed() RETURNS trigger
    LANGUAGE c AS 'MODULE_PATHNAME', 'pgboost_privilege_changed';
COMMENT ON FUNCTION pgboost_catalog.privilege_changed() IS
    'pgboost: keeps the grants on the type model_privileges';

CREATE TRIGGER role_named BEFORE INSERT OR UPDATE ON pgboost_catalog.privilege
    FOR EACH ROW EXECUTE FUNCTION pgboost_catalog.privilege_changed();
CREATE TRIGGER role_unnamed AFTER UPDATE OR DELETE ON pgboost_catalog.privilege
    FOR EACH ROW EXECUTE FUNCTION pgboost_catalog.privilege_changed();
ALTER TABLE pgboost_catalog.privilege ENABLE ALWAYS TRIGGER role_named;
ALTER TABLE pgboost_catalog.privilege ENABLE ALWAYS TRIGGER role_unnamed;

CREATE FUNCTION pgboost_catalog.batch_support(internal) RETURNS internal
    LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'pgboost_batch_support';
COMMENT ON FUNCTION pgboost_catalog.batch_support(internal) IS
    'pgboost: estimates the cost of predicting the rows of an array for the planner';

CREATE FUNCTION @extschema@.predict_batch(model text, features "any") RETURNS real[]
    LANGUAGE c STABLE PARALLEL SAFE COST 200 SUPPORT pgboost_catalog.batch_support
    AS 'MODULE_PATHNAME', 'pgboost_predict_batch';
COMMENT ON FUNCTION @extschema@.predict_batch(text, "any") IS
    'predicts the values of each row of an array of two dimensions';

CREATE FUNCTION @extschema@.export_model_sql(model text, function text DEFAULT NULL,
    schema text DEFAULT 'public', drop boolean DEFAULT false)
    RETURNS text LANGUAGE c STABLE PARALLEL SAFE
    AS 'MODULE_PATHNAME', 'pgboost_export_model_sql_wrapper';
COMMENT ON FUNCTION @extschema@.export_model_sql(text, text, text, boolean) IS
    'returns a script that creates a model as SQL functions, for servers without pgboost';

CREATE FUNCTION @extschema@.load_model(model text, file bytea, labels text[] DEFAULT NULL,
    feature_names text[] DEFAULT NULL, params jsonb DEFAULT NULL, metrics jsonb DEFAULT NULL,
    rounds integer DEFAULT NULL, best_iteration boolean DEFAULT false, categories jsonb DEFAULT NULL,
    deploy boolean DEFAULT true, real_input text DEFAULT 'decimal', allow_change boolean DEFAULT false)
    RETURNS integer LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'pgboost_load_model_1_1_wrapper';
REVOKE ALL ON FUNCTION @extschema@.load_model(text, bytea, text[], text[], jsonb, jsonb, integer, boolean,
    jsonb, boolean, text, boolean) FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.load_model(text, bytea, text[], text[], jsonb, jsonb, integer, boolean, jsonb,
    boolean, text, boolean) IS
    'stores a model file as a new version, deploys it by default, and gives its number';

-- back: the number of the deployment that a rollback returns to.
CREATE TABLE pgboost_catalog.deployment (
    model uuid NOT NULL,
    number integer NOT NULL,
    version integer NOT NULL,
    previous integer,
    back integer,
    deployed_by text,
    deployed_at timestamp with time zone NOT NULL,
    comment text,
    CONSTRAINT deployment_pkey PRIMARY KEY (model, number)
);
COMMENT ON TABLE pgboost_catalog.deployment IS
    'pgboost: one row per deployment of a model; use the view pgboost_deployments';
SELECT pg_catalog.pg_extension_config_dump('pgboost_catalog.deployment', '');

INSERT INTO pgboost_catalog.deployment (model, number, version, deployed_at)
    SELECT m.id, 1, v.version, COALESCE(v.deployed_at, v.loaded_at)
      FROM pgboost_catalog.model AS m
      JOIN pgboost_catalog.version AS v
        ON v.model OPERATOR(pg_catalog.=) m.id AND v.version OPERATOR(pg_catalog.=) m.deployed;

CREATE FUNCTION @extschema@.deploy_model(model text, allow_change boolean DEFAULT false,
    comment text DEFAULT NULL)
    RETURNS void LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'pgboost_deploy_model_1_1_wrapper';
REVOKE ALL ON FUNCTION @extschema@.deploy_model(text, boolean, text) FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.deploy_model(text, boolean, text) IS
    'deploys a version of a model, m@3 or m@alias, so that the model''s name refers to it';

CREATE FUNCTION @extschema@.rollback_model(model text, allow_change boolean DEFAULT false,
    comment text DEFAULT NULL)
    RETURNS integer LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'pgboost_rollback_model_wrapper';
REVOKE ALL ON FUNCTION @extschema@.rollback_model(text, boolean, text) FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.rollback_model(text, boolean, text) IS
    'deploys the version that was deployed before the present one, and gives its number';

CREATE FUNCTION @extschema@.set_model_comment(model text, comment text)
    RETURNS void LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'pgboost_set_model_comment_wrapper';
REVOKE ALL ON FUNCTION @extschema@.set_model_comment(text, text) FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.set_model_comment(text, text) IS
    'sets the comment of a model, or of a version m@3; NULL removes it';

CREATE FUNCTION @extschema@.set_alias(model text, alias text, allow_change boolean DEFAULT false)
    RETURNS void LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'pgboost_set_alias_1_1_wrapper';
REVOKE ALL ON FUNCTION @extschema@.set_alias(text, text, boolean) FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.set_alias(text, text, boolean) IS
    'sets an alias of a version, so that model@alias refers to it';

CREATE FUNCTION @extschema@.grant_model(model text, role text, privilege text DEFAULT 'predict')
    RETURNS void LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'pgboost_grant_model_1_1_wrapper';
COMMENT ON FUNCTION @extschema@.grant_model(text, text, text) IS
    'grants a role, or public, the privilege to predict with a model, or to inspect it too';

CREATE FUNCTION @extschema@.revoke_model(model text, role text, privilege text DEFAULT 'predict')
    RETURNS void LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'pgboost_revoke_model_1_1_wrapper';
COMMENT ON FUNCTION @extschema@.revoke_model(text, text, text) IS
    'revokes a privilege that grant_model has granted';

CREATE FUNCTION @extschema@.set_unknown_category(model text, policy text)
    RETURNS void LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'pgboost_set_unknown_category_wrapper';
COMMENT ON FUNCTION @extschema@.set_unknown_category(text, text) IS
    'sets what an unknown category means to a model: error, missing, or what it is to the library';

CREATE FUNCTION @extschema@.partial_dependence(model text, source text, feature text,
    second_feature text DEFAULT NULL, points integer DEFAULT 100,
    percentiles double precision[] DEFAULT '{0.05,0.95}', weight text DEFAULT NULL)
    RETURNS TABLE (output text, value text, second_value text, average double precision)
    LANGUAGE c VOLATILE ROWS 100
    AS 'MODULE_PATHNAME', 'pgboost_partial_dependence_wrapper';
COMMENT ON FUNCTION @extschema@.partial_dependence(text, text, text, text, integer, double precision[], text) IS
    'computes the mean prediction for each value of a feature, or of two';

CREATE FUNCTION @extschema@.permutation_importance(model text, source text, target text,
    metric text DEFAULT NULL, repeats integer DEFAULT 5, weight text DEFAULT NULL, qid text DEFAULT NULL,
    quantile_alpha double precision[] DEFAULT NULL, seed integer DEFAULT 0)
    RETURNS TABLE (feature text, importance double precision, stddev double precision)
    LANGUAGE c VOLATILE ROWS 20
    AS 'MODULE_PATHNAME', 'pgboost_permutation_importance_wrapper';
COMMENT ON FUNCTION @extschema@.permutation_importance(text, text, text, text, integer, text, text,
    double precision[], integer) IS
    'computes how much worse a metric is when the values of a feature are shuffled among the rows';

CREATE FUNCTION pgboost_catalog.check_storable(model text)
    RETURNS boolean LANGUAGE c STABLE
    AS 'MODULE_PATHNAME', 'pgboost_check_storable_wrapper';
COMMENT ON FUNCTION pgboost_catalog.check_storable(text) IS
    'pgboost: raises an error if the name cannot be that of a model of the current user';

-- Grants on the functions that have a new argument, and USAGE on the type for each role that has a privilege.
-- PostgreSQL takes what a script of an extension grants for the initial privileges, which pg_dump leaves out, so
-- these are put back.
DO $$
DECLARE
    initial pg_catalog.pg_init_privs[];
    old_function pg_catalog.regprocedure;
    new_function pg_catalog.regprocedure;
    old_privileges pg_catalog.aclitem[];
    granted record;
BEGIN
    initial := ARRAY(SELECT p FROM pg_catalog.pg_init_privs AS p
                      WHERE p.privtype OPERATOR(pg_catalog.=) 'e');
    FOR old_function, new_function IN VALUES
        ('@extschema@.load_model(text, bytea, text[], text[], jsonb, jsonb, integer, boolean, jsonb, boolean)'
            ::pg_catalog.regprocedure,
         '@extschema@.load_model(text, bytea, text[], text[], jsonb, jsonb, integer, boolean, jsonb, boolean, '
            'text, boolean)'::pg_catalog.regprocedure),
        ('@extschema@.deploy_model(text)', '@extschema@.deploy_model(text, boolean, text)'),
        ('@extschema@.set_alias(text, text)', '@extschema@.set_alias(text, text, boolean)'),
        ('@extschema@.grant_model(text, text)', '@extschema@.grant_model(text, text, text)'),
        ('@extschema@.revoke_model(text, text)', '@extschema@.revoke_model(text, text, text)')
    LOOP
        SELECT p.proacl INTO old_privileges FROM pg_catalog.pg_proc AS p
            WHERE p.oid OPERATOR(pg_catalog.=) old_function;
        IF old_privileges IS NOT NULL THEN
            EXECUTE pg_catalog.format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', new_function);
        END IF;
        FOR granted IN
            SELECT CASE WHEN a.grantee OPERATOR(pg_catalog.=) 0::pg_catalog.oid THEN 'PUBLIC'
                        ELSE a.grantee::pg_catalog.regrole::pg_catalog.text END AS grantee,
                   CASE WHEN a.is_grantable THEN 'WITH GRANT OPTION' ELSE '' END AS option
              FROM pg_catalog.aclexplode(old_privileges) AS a
              JOIN pg_catalog.pg_proc AS p ON p.oid OPERATOR(pg_catalog.=) old_function
             WHERE a.grantee OPERATOR(pg_catalog.<>) p.proowner
        LOOP
            EXECUTE pg_catalog.format('GRANT EXECUTE ON FUNCTION %s TO %s %s', new_function, granted.grantee,
                                      granted.option);
        END LOOP;
        EXECUTE pg_catalog.format('DROP FUNCTION %s', old_function);
    END LOOP;

    FOR granted IN
        SELECT DISTINCT p.role::pg_catalog.text AS grantee,
               c.relowner::pg_catalog.regrole::pg_catalog.text AS owner
          FROM pgboost_catalog.privilege AS p
          JOIN pg_catalog.pg_class AS c
            ON c.oid OPERATOR(pg_catalog.=) 'pgboost_catalog.privilege'::pg_catalog.regclass
         WHERE p.role OPERATOR(pg_catalog.<>) 0::pg_catalog.oid
           AND p.role OPERATOR(pg_catalog.<>) c.relowner
    LOOP
        EXECUTE pg_catalog.format('ALTER TYPE pgboost_catalog.model_privileges OWNER TO %s', granted.owner);
        EXECUTE pg_catalog.format('GRANT USAGE ON TYPE pgboost_catalog.model_privileges TO %s',
                                  granted.grantee);
    END LOOP;

    DELETE FROM pg_catalog.pg_init_privs AS p WHERE p.privtype OPERATOR(pg_catalog.=) 'e';
    INSERT INTO pg_catalog.pg_init_privs SELECT (pg_catalog.unnest(initial)).*;
    -- The entry of a role in initial privileges, since PostgreSQL 17.
    DELETE FROM pg_catalog.pg_shdepend AS d USING pg_catalog.pg_extension AS e, pg_catalog.pg_depend AS member
        WHERE d.deptype OPERATOR(pg_catalog.=) 'i'
          AND d.dbid OPERATOR(pg_catalog.=) (SELECT b.oid FROM pg_catalog.pg_database AS b
              WHERE b.datname OPERATOR(pg_catalog.=) pg_catalog.current_database())
          AND e.extname OPERATOR(pg_catalog.=) 'pgboost'
          AND member.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_extension'::pg_catalog.regclass
          AND member.refobjid OPERATOR(pg_catalog.=) e.oid
          AND member.deptype OPERATOR(pg_catalog.=) 'e'
          AND d.classid OPERATOR(pg_catalog.=) member.classid
          AND d.objid OPERATOR(pg_catalog.=) member.objid;
END $$;

-- The task and the link of each version are in its file.
CREATE FUNCTION pgboost_catalog.meaning(model text, version integer) RETURNS text[]
    LANGUAGE c VOLATILE AS 'MODULE_PATHNAME', 'pgboost_meaning_1_1_wrapper';
UPDATE pgboost_catalog.version AS v SET task = f.meaning[1], link = f.meaning[2]
    FROM (SELECT m.id, n.version, pgboost_catalog.meaning(m.name, n.version) AS meaning
            FROM pgboost_catalog.model AS m
            JOIN pgboost_catalog.version AS n ON n.model OPERATOR(pg_catalog.=) m.id) AS f
    WHERE v.model OPERATOR(pg_catalog.=) f.id AND v.version OPERATOR(pg_catalog.=) f.version
      AND f.meaning IS NOT NULL;
DROP FUNCTION pgboost_catalog.meaning(text, integer);

REVOKE ALL ON FUNCTION pgboost_catalog.privilege_changed(), pgboost_catalog.batch_support(internal),
    pgboost_catalog.check_storable(text) FROM PUBLIC;

CREATE FUNCTION pgboost_catalog.may_predict(model uuid) RETURNS boolean
    LANGUAGE c STABLE STRICT PARALLEL SAFE COST 100
    AS 'MODULE_PATHNAME', 'pgboost_may_predict_wrapper';
COMMENT ON FUNCTION pgboost_catalog.may_predict(uuid) IS
    'pgboost: whether the current user may predict with a model';

CREATE FUNCTION pgboost_catalog.owner(model uuid) RETURNS regrole
    LANGUAGE c STABLE STRICT PARALLEL SAFE COST 100
    AS 'MODULE_PATHNAME', 'pgboost_owner_wrapper';
COMMENT ON FUNCTION pgboost_catalog.owner(uuid) IS 'pgboost: returns the owner of a model';

CREATE OR REPLACE VIEW @extschema@.pgboost_models WITH (security_barrier) AS
    SELECT m.name,
           v.version,
           COALESCE(v.version OPERATOR(pg_catalog.=) m.deployed, false) AS deployed,
           pgboost_catalog.owner(m.id) AS owner,
           v.objective,
           v.features,
           v.outputs,
           v.trees,
           v.rounds,
           v.used_rounds,
           v.best_rounds,
           v.depth,
           v.format,
           v.library_version,
           v.size,
           v.loaded_by,
           v.loaded_at,
           v.deployed_at,
           v.pinned,
           v.comment,
           m.comment AS model_comment
      FROM pgboost_catalog.model AS m
      JOIN pgboost_catalog.version AS v ON v.model OPERATOR(pg_catalog.=) m.id
     WHERE pgboost_catalog.may_predict(m.id);

CREATE OR REPLACE VIEW @extschema@.pgboost_aliases WITH (security_barrier) AS
    SELECT m.name, a.alias, a.version
      FROM pgboost_catalog.alias AS a
      JOIN pgboost_catalog.model AS m ON m.id OPERATOR(pg_catalog.=) a.model
      JOIN pgboost_catalog.version AS v ON v.model OPERATOR(pg_catalog.=) a.model
                                       AND v.version OPERATOR(pg_catalog.=) a.version
     WHERE pgboost_catalog.may_predict(m.id);

CREATE FUNCTION pgboost_catalog.statistics(model uuid, version integer)
    RETURNS TABLE (calls bigint, rows bigint, batches bigint, total_time double precision,
        missing_rows bigint, outside_rows bigint, last_used double precision, unknown_rows bigint)
    LANGUAGE c VOLATILE ROWS 1 PARALLEL SAFE
    AS 'MODULE_PATHNAME', 'pgboost_statistics_1_1_wrapper';
COMMENT ON FUNCTION pgboost_catalog.statistics(uuid, integer) IS
    'pgboost: returns the counters of a version, if the current user may see them; use the view pg_stat_pgboost';

CREATE OR REPLACE VIEW @extschema@.pg_stat_pgboost WITH (security_barrier) AS
    SELECT m.name, v.version, COALESCE(v.version OPERATOR(pg_catalog.=) m.deployed, false) AS deployed,
           s.calls, s.rows, s.batches, s.total_time, s.missing_rows, s.outside_rows,
           pg_catalog.to_timestamp(s.last_used) AS last_used,
           s.unknown_rows
      FROM pgboost_catalog.model AS m
      JOIN pgboost_catalog.version AS v ON v.model OPERATOR(pg_catalog.=) m.id,
           LATERAL pgboost_catalog.statistics(m.id, v.version) AS s;

CREATE VIEW @extschema@.pgboost_deployments WITH (security_barrier) AS
    SELECT m.name, d.version, d.previous AS previous_version, d.deployed_by, d.deployed_at, d.comment, d.number
      FROM pgboost_catalog.deployment AS d
      JOIN pgboost_catalog.model AS m ON m.id OPERATOR(pg_catalog.=) d.model
     WHERE pgboost_catalog.may_predict(m.id);
GRANT SELECT ON @extschema@.pgboost_deployments TO PUBLIC;
COMMENT ON VIEW @extschema@.pgboost_deployments IS
    'pgboost: the deployments of the models that the current user may predict with, numbered per model';

-- Maintained scores.

CREATE FUNCTION @extschema@.pgboost_maintain_score() RETURNS trigger
    LANGUAGE c AS 'MODULE_PATHNAME', 'pgboost_maintain_score';
COMMENT ON FUNCTION @extschema@.pgboost_maintain_score() IS
    'the function of the triggers that maintain_scores makes';

CREATE FUNCTION @extschema@.maintain_scores(relation regclass, model text, score_column text DEFAULT 'score',
    version_column text DEFAULT NULL, output text DEFAULT 'predict', on_error text DEFAULT 'null',
    replicated boolean DEFAULT false)
    RETURNS void LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'pgboost_maintain_scores_wrapper';
COMMENT ON FUNCTION @extschema@.maintain_scores(regclass, text, text, text, text, text, boolean) IS
    'keeps the scores of a table''s rows in a column, with the version that made them';

CREATE FUNCTION pgboost_catalog.rows_behind(relation regclass, version_column smallint, version integer)
    RETURNS bigint LANGUAGE c STABLE
    AS 'MODULE_PATHNAME', 'pgboost_rows_behind_wrapper';
COMMENT ON FUNCTION pgboost_catalog.rows_behind(regclass, smallint, integer) IS
    'pgboost: counts the rows whose score is not of a version; use the view pgboost_scores';

-- The triggers know it all. Those with two columns are for inserts; their partitions' copies have a parent.
-- Whoever owns a table can make such a trigger with other arguments: it is left out.
CREATE VIEW @extschema@.pgboost_scores WITH (security_barrier) AS
    SELECT t.tgrelid::pg_catalog.regclass AS relation,
           s.attname AS score_column,
           v.attname AS version_column,
           CASE WHEN pgboost_catalog.may_predict(m.id) THEN m.name END AS name,
           CASE WHEN a.suffix OPERATOR(pg_catalog.<>) '' THEN a.suffix END AS version_or_alias,
           w.version AS current_version,
           a.output,
           a.on_error,
           pgboost_catalog.rows_behind(t.tgrelid, t.tgattr[1], w.version) AS rows_behind
      FROM pg_catalog.pg_trigger AS t
      JOIN pg_catalog.pg_attribute AS s ON s.attrelid OPERATOR(pg_catalog.=) t.tgrelid
                                       AND s.attnum OPERATOR(pg_catalog.=) t.tgattr[0]
      JOIN pg_catalog.pg_attribute AS v ON v.attrelid OPERATOR(pg_catalog.=) t.tgrelid
                                       AND v.attnum OPERATOR(pg_catalog.=) t.tgattr[1],
           LATERAL (SELECT pg_catalog.encode(t.tgargs, 'escape')) AS x (arguments),
           LATERAL (SELECT CASE WHEN t.tgnargs OPERATOR(pg_catalog.=) 4 AND x.arguments OPERATOR(pg_catalog.~)
                        '^[0-9a-f-]{36}\\000predict(_[a-z]+)?\\000(null|error)\\000'
                        THEN pg_catalog.string_to_array(x.arguments, '\000') END) AS e (parts),
           LATERAL (SELECT e.parts[1], e.parts[2], e.parts[3], pg_catalog.convert_from(pg_catalog.decode(
                        pg_catalog.array_to_string(e.parts[4:pg_catalog.cardinality(e.parts)
                                                               OPERATOR(pg_catalog.-) 1], '\000'),
                        'escape'), pg_catalog.getdatabaseencoding())) AS a (model, output, on_error, suffix)
      LEFT JOIN pgboost_catalog.model AS m ON m.id::pg_catalog.text OPERATOR(pg_catalog.=) a.model,
           LATERAL (SELECT CASE WHEN a.suffix OPERATOR(pg_catalog.=) '' THEN m.deployed ELSE COALESCE(
                        (SELECT n.version FROM pgboost_catalog.version AS n
                          WHERE n.model OPERATOR(pg_catalog.=) m.id
                            AND n.version::pg_catalog.text OPERATOR(pg_catalog.=) a.suffix),
                        (SELECT n.version FROM pgboost_catalog.alias AS n
                          WHERE n.model OPERATOR(pg_catalog.=) m.id
                            AND n.alias OPERATOR(pg_catalog.=) a.suffix)) END) AS w (version)
     WHERE t.tgfoid OPERATOR(pg_catalog.=) '@extschema@.pgboost_maintain_score()'::pg_catalog.regprocedure
       AND t.tgparentid OPERATOR(pg_catalog.=) 0::pg_catalog.oid
       AND e.parts IS NOT NULL
       AND pg_catalog.has_any_column_privilege(t.tgrelid, 'SELECT');
GRANT SELECT ON @extschema@.pgboost_scores TO PUBLIC;
COMMENT ON VIEW @extschema@.pgboost_scores IS
    'pgboost: the scores that are maintained in the tables that the current user may read';

-- A language other than C does not know whether it may commit.
CREATE PROCEDURE @extschema@.pgboost_require_commits()
    LANGUAGE c
    AS 'MODULE_PATHNAME', 'pgboost_require_commits_wrapper';
COMMENT ON PROCEDURE @extschema@.pgboost_require_commits() IS
    'pgboost: raises an error where refresh_scores could not commit';

-- It commits after each batch, so it can have no SET clause: it sets the search path of each transaction before
-- anything else, but for the table's triggers, and finds the view without naming the extension's schema, which may
-- be renamed.
CREATE PROCEDURE @extschema@.refresh_scores(relation regclass, batch integer DEFAULT 10000)
    LANGUAGE plpgsql
AS $$
#variable_conflict use_variable
DECLARE
    -- Types are found before the search path is set, which the caller's transaction gets back.
    path pg_catalog.text := pg_catalog.current_setting('search_path');
    own_path pg_catalog.text;
    scores pg_catalog.text;
    maintained pg_catalog.bool;
    score pg_catalog.record;
    leaf pg_catalog.regclass;
    current_version pg_catalog.int4;
    first pg_catalog.int8;
    pages pg_catalog.int8;
    step pg_catalog.int8;
    change pg_catalog.text;
    lower pg_catalog.tid;
    upper pg_catalog.tid;
    written pg_catalog.int8;
BEGIN
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
    IF relation IS NULL OR batch IS NULL THEN
        RAISE EXCEPTION '% must not be null', CASE WHEN relation IS NULL THEN 'relation' ELSE 'batch' END
            USING ERRCODE = 'null_value_not_allowed';
    ELSIF batch < 1 THEN
        RAISE EXCEPTION 'batch must be at least 1' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    SELECT format('SELECT s.version_column, s.current_version FROM %I.pgboost_scores AS s WHERE s.relation = $1',
                  n.nspname), format('pg_catalog, %I, pg_temp', n.nspname)
      INTO scores, own_path FROM pg_extension AS e JOIN pg_namespace AS n ON n.oid = e.extnamespace
     WHERE e.extname = 'pgboost';
    PERFORM set_config('search_path', own_path, true);
    CALL pgboost_require_commits();
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
    EXECUTE 'SELECT EXISTS (' || scores || ')' INTO maintained USING relation;
    IF NOT maintained THEN
        RAISE EXCEPTION 'table % has no maintained scores', relation USING ERRCODE = 'undefined_object',
              HINT = 'Make them with maintain_scores.';
    END IF;
    FOR score IN EXECUTE scores USING relation LOOP
        current_version := score.current_version;
        FOR leaf IN WITH RECURSIVE below (oid) AS (
                        SELECT relation::oid
                        UNION SELECT i.inhrelid FROM pg_inherits AS i JOIN below AS b ON b.oid = i.inhparent)
                    SELECT b.oid FROM below AS b JOIN pg_class AS c ON c.oid = b.oid AND c.relkind = 'r'
                     WHERE EXISTS (SELECT FROM pg_trigger AS t JOIN pg_proc AS p ON p.oid = t.tgfoid
                                     JOIN pg_attribute AS a ON a.attrelid = t.tgrelid AND a.attnum = t.tgattr[1]
                                    WHERE t.tgrelid = b.oid AND p.proname = 'pgboost_maintain_score'
                                      AND a.attname = score.version_column)
        LOOP
            pages := pg_relation_size(leaf) / current_setting('block_size')::bigint;
            SELECT greatest(1, ceil(batch::bigint * p.number / greatest(c.reltuples, 100.0 * p.number / 2)))
              INTO step FROM pg_class AS c, LATERAL (SELECT greatest(c.relpages, 1)) AS p (number) WHERE c.oid = leaf;
            first := 0;
            WHILE first < pages LOOP
                SELECT format('UPDATE ONLY %1$I.%2$I SET %3$I = NULL WHERE ctid OPERATOR(pg_catalog.>=) $1 '
                              'AND ctid OPERATOR(pg_catalog.<) $2 AND (%3$I OPERATOR(pg_catalog.=) $3) IS NOT TRUE '
                              'AND (%3$I IS NOT NULL OR $3 IS NOT NULL)', n.nspname, c.relname, score.version_column),
                       format('(%s,0)', first)::tid, format('(%s,0)', least(first + step, 4294967295))::tid
                  INTO change, lower, upper
                  FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE c.oid = leaf;
                first := first + step;
                -- The table's triggers, also those at the end of the transaction, find what they name.
                PERFORM pg_catalog.set_config('search_path', path, true);
                EXECUTE change USING lower, upper, current_version;
                GET DIAGNOSTICS written = ROW_COUNT;
                IF written OPERATOR(pg_catalog.>) 0 THEN
                    COMMIT;
                END IF;
                PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
                IF written > 0 THEN
                    -- Another version may have been deployed.
                    EXECUTE scores || ' AND s.version_column = $2' INTO STRICT score
                        USING relation, score.version_column;
                    current_version := score.current_version;
                END IF;
            END LOOP;
        END LOOP;
    END LOOP;
    PERFORM set_config('search_path', path, true);
END $$;
COMMENT ON PROCEDURE @extschema@.refresh_scores(regclass, integer) IS
    'scores the rows of a table again whose scores are not of the current version, and commits after each batch';

CREATE FUNCTION @extschema@.drop_scores(relation regclass, score_column text DEFAULT NULL,
    drop_columns boolean DEFAULT false)
    RETURNS void LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    maintained record;
    other record;
    found_any boolean := false;
BEGIN
    IF relation IS NULL OR drop_columns IS NULL THEN
        RAISE EXCEPTION '% must not be null', CASE WHEN relation IS NULL THEN 'relation' ELSE 'drop_columns' END
            USING ERRCODE = 'null_value_not_allowed';
    END IF;
    FOR maintained IN
        SELECT t.tgargs, t.tgfoid, s.attname AS score, v.attname AS version
          FROM pg_trigger AS t
          JOIN pg_proc AS p ON p.oid = t.tgfoid AND p.proname = 'pgboost_maintain_score'
          JOIN pg_extension AS e ON e.extnamespace = p.pronamespace AND e.extname = 'pgboost'
          JOIN pg_attribute AS s ON s.attrelid = t.tgrelid AND s.attnum = t.tgattr[0]
          JOIN pg_attribute AS v ON v.attrelid = t.tgrelid AND v.attnum = t.tgattr[1]
         WHERE t.tgrelid = drop_scores.relation AND t.tgparentid = 0
           AND (drop_scores.score_column IS NULL OR s.attname = drop_scores.score_column)
    LOOP
        found_any := true;
        FOR other IN SELECT t.tgname FROM pg_trigger AS t
                      WHERE t.tgrelid = drop_scores.relation AND t.tgfoid = maintained.tgfoid
                        AND t.tgargs = maintained.tgargs
        LOOP
            EXECUTE format('DROP TRIGGER %I ON %s', other.tgname, relation);
        END LOOP;
        IF drop_columns THEN
            EXECUTE format('ALTER TABLE %s DROP COLUMN %I, DROP COLUMN %I', relation, maintained.score,
                           maintained.version);
        END IF;
    END LOOP;
    IF NOT found_any THEN
        RAISE EXCEPTION 'table % has no maintained scores%', relation, COALESCE(' in column "' || score_column || '"', '')
            USING ERRCODE = 'undefined_object', HINT = 'The view pgboost_scores lists those that there are.';
    END IF;
END $$;
COMMENT ON FUNCTION @extschema@.drop_scores(regclass, text, boolean) IS
    'ends the maintenance of a table''s scores, and drops their columns if that is asked for';
