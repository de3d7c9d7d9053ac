-- What CREATE EXTENSION pgboost runs; installed as pgboost--VERSION.sql. docs/sql-reference.md describes the
-- views and functions.
\echo Use "CREATE EXTENSION pgboost" to load this file. \quit

-- The registry and what else is not called by users: nobody but the owner of the extension has a privilege on
-- this schema, so no other role's object can be in it.
CREATE SCHEMA pgboost_catalog;
COMMENT ON SCHEMA pgboost_catalog IS 'pgboost: the registry and internal functions';

-- The registry: what models there are, what they are made of, and who may use them.
--
-- Nobody but the owner of the extension has a privilege on these tables; the functions of the extension check
-- the privileges of the calling user and then write as the owner. Names are compared byte by byte, so that no
-- change of a locale can make a model unfindable. There are no foreign keys: a parallel restore fills the
-- tables of an extension in any order. The functions keep the tables consistent under the lock of a model's
-- row.
--
-- A model is its id, whatever its name: all but the pins refer to it, and privileges are those of the id. It is
-- random, since a sequence would give a number again on a subscriber, on another node and after a crash.

-- Columns are in the order in which releases have added them, as in a table that was updated: rows go between
-- the nodes of Citus as text.
CREATE TABLE pgboost_catalog.model (
    name text COLLATE "C" NOT NULL CONSTRAINT model_name_key UNIQUE,
    deployed integer,
    last_version integer NOT NULL,
    id uuid CONSTRAINT model_pkey PRIMARY KEY DEFAULT pg_catalog.gen_random_uuid(),
    comment text,
    unknown_category text COLLATE "C" CONSTRAINT model_unknown_category
        CHECK (unknown_category OPERATOR(pg_catalog.=) ANY (ARRAY['error', 'missing', 'library']))
);

CREATE TABLE pgboost_catalog.version (
    model uuid NOT NULL,
    version integer NOT NULL,
    size integer NOT NULL,
    digest bytea NOT NULL,
    feature_names text[],
    labels text[],
    categories jsonb,
    format text NOT NULL,
    library_version text,
    objective text NOT NULL,
    features integer NOT NULL,
    outputs integer NOT NULL,
    trees integer NOT NULL,
    rounds integer NOT NULL,
    used_rounds integer NOT NULL,
    best_rounds integer,
    depth integer NOT NULL,
    attributes jsonb NOT NULL,
    parameters jsonb,
    metrics jsonb,
    loaded_by text NOT NULL,
    loaded_at timestamp with time zone NOT NULL DEFAULT pg_catalog.now(),
    deployed_at timestamp with time zone,
    pinned boolean NOT NULL DEFAULT false,
    task text NOT NULL,
    link text NOT NULL,
    real_input text NOT NULL,
    array_categories text NOT NULL,
    comment text,
    CONSTRAINT version_pkey PRIMARY KEY (model, version)
);

-- A model's file in parts of some megabytes, each with the number of bytes before it. Parts are what a cancel
-- waits for, and are stored as they are: to compress the largest file takes seconds.
CREATE TABLE pgboost_catalog.file_part (
    model uuid NOT NULL,
    version integer NOT NULL,
    start integer NOT NULL,
    bytes bytea NOT NULL,
    CONSTRAINT file_part_pkey PRIMARY KEY (model, version, start)
);

ALTER TABLE pgboost_catalog.file_part ALTER COLUMN bytes SET STORAGE EXTERNAL;

CREATE TABLE pgboost_catalog.privilege (
    model uuid NOT NULL,
    role regrole NOT NULL,
    privilege text COLLATE "C" NOT NULL
        CHECK (privilege OPERATOR(pg_catalog.=) ANY (ARRAY['owner', 'predict', 'inspect'])),
    CONSTRAINT privilege_pkey PRIMARY KEY (model, role, privilege)
);

CREATE UNIQUE INDEX privilege_one_owner ON pgboost_catalog.privilege (model)
    WHERE privilege OPERATOR(pg_catalog.=) 'owner';
CREATE INDEX privilege_role ON pgboost_catalog.privilege (role);

-- Each role that a privilege names has USAGE on this type, which has no other use: so PostgreSQL knows that
-- the role is in use, and nothing passes to a later role with the number of a dropped one. A row whose role
-- is not named here gives nothing.
CREATE TYPE pgboost_catalog.model_privileges AS ENUM ();
REVOKE ALL ON TYPE pgboost_catalog.model_privileges FROM PUBLIC;
COMMENT ON TYPE pgboost_catalog.model_privileges IS
    'pgboost: granted to each role that owns a model or may predict with one';

CREATE TABLE pgboost_catalog.alias (
    model uuid NOT NULL,
    alias text COLLATE "C" NOT NULL,
    version integer NOT NULL,
    CONSTRAINT alias_pkey PRIMARY KEY (model, alias)
);

CREATE TABLE pgboost_catalog.function (
    model uuid NOT NULL,
    function text COLLATE "C" NOT NULL,
    CONSTRAINT function_pkey PRIMARY KEY (model, function)
);

-- By the name, since that is what expressions say.
CREATE TABLE pgboost_catalog.pinned (
    name text COLLATE "C" NOT NULL,
    version integer NOT NULL,
    CONSTRAINT pinned_pkey PRIMARY KEY (name, version)
);

COMMENT ON TABLE pgboost_catalog.model IS 'pgboost: one row per model; use the view pgboost_models';
COMMENT ON TABLE pgboost_catalog.version IS
    'pgboost: one row per version of a model, with the SHA-256 of its file';
COMMENT ON TABLE pgboost_catalog.file_part IS 'pgboost: the files of the versions as they were loaded, in parts';
COMMENT ON TABLE pgboost_catalog.privilege IS
    'pgboost: who owns a model, and who may predict with it or inspect it; role - is everybody';
COMMENT ON TABLE pgboost_catalog.alias IS 'pgboost: names for versions; use the view pgboost_aliases';
COMMENT ON TABLE pgboost_catalog.function IS
    'pgboost: the functions that create_predict_function has created';
COMMENT ON TABLE pgboost_catalog.pinned IS
    'pgboost: versions that were ever pinned; their numbers are not used again, even after drop_model';

SELECT pg_catalog.pg_extension_config_dump('pgboost_catalog.model', '');
SELECT pg_catalog.pg_extension_config_dump('pgboost_catalog.version', '');
SELECT pg_catalog.pg_extension_config_dump('pgboost_catalog.file_part', '');
-- A row that gives nothing may have the number of a role that was dropped.
SELECT pg_catalog.pg_extension_config_dump('pgboost_catalog.privilege',
    'WHERE role OPERATOR(pg_catalog.=) 0::pg_catalog.oid OR EXISTS (SELECT FROM pg_catalog.pg_type AS t, '
    'pg_catalog.aclexplode(t.typacl) AS a WHERE t.oid OPERATOR(pg_catalog.=) '
    '''pgboost_catalog.model_privileges''::pg_catalog.regtype '
    'AND a.grantee OPERATOR(pg_catalog.=) role)');

-- What the features of a version were where it was trained: of numbers points of their distribution, each
-- with the shares of the numbers below it and up to it; of categories the share of each.
CREATE TABLE pgboost_catalog.baseline (
    model uuid NOT NULL,
    version integer NOT NULL,
    position integer NOT NULL,
    feature text NOT NULL,
    rows bigint NOT NULL,
    missing bigint NOT NULL,
    numbers double precision[],
    below double precision[],
    upto double precision[],
    categories text[],
    shares double precision[],
    CONSTRAINT baseline_pkey PRIMARY KEY (model, version, position)
);

COMMENT ON TABLE pgboost_catalog.baseline IS 'pgboost: the baselines, one row per feature of a version';

SELECT pg_catalog.pg_extension_config_dump('pgboost_catalog.baseline', '');
SELECT pg_catalog.pg_extension_config_dump('pgboost_catalog.alias', '');
SELECT pg_catalog.pg_extension_config_dump('pgboost_catalog.function', '');
SELECT pg_catalog.pg_extension_config_dump('pgboost_catalog.pinned', '');

-- Any change, whoever makes it, tells all backends to read the registry again once it is committed. The
-- triggers fire for replicated changes too.
CREATE FUNCTION pgboost_catalog.registry_changed() RETURNS trigger
    LANGUAGE c AS 'MODULE_PATHNAME', 'pgboost_registry_changed';
COMMENT ON FUNCTION pgboost_catalog.registry_changed() IS 'pgboost: invalidates the registry in all backends';

CREATE FUNCTION pgboost_catalog.privilege_changed() RETURNS trigger
    LANGUAGE c AS 'MODULE_PATHNAME', 'pgboost_privilege_changed';
COMMENT ON FUNCTION pgboost_catalog.privilege_changed() IS
    'pgboost: keeps the grants on the type model_privileges';

CREATE TRIGGER row_changed AFTER INSERT OR UPDATE OR DELETE ON pgboost_catalog.model
    FOR EACH ROW EXECUTE FUNCTION pgboost_catalog.registry_changed();
CREATE TRIGGER row_changed AFTER INSERT OR UPDATE OR DELETE ON pgboost_catalog.version
    FOR EACH ROW EXECUTE FUNCTION pgboost_catalog.registry_changed();
CREATE TRIGGER row_changed AFTER INSERT OR UPDATE OR DELETE ON pgboost_catalog.privilege
    FOR EACH ROW EXECUTE FUNCTION pgboost_catalog.registry_changed();
CREATE TRIGGER row_changed AFTER INSERT OR UPDATE OR DELETE ON pgboost_catalog.alias
    FOR EACH ROW EXECUTE FUNCTION pgboost_catalog.registry_changed();
CREATE TRIGGER role_named BEFORE INSERT OR UPDATE ON pgboost_catalog.privilege
    FOR EACH ROW EXECUTE FUNCTION pgboost_catalog.privilege_changed();
CREATE TRIGGER role_unnamed AFTER UPDATE OR DELETE ON pgboost_catalog.privilege
    FOR EACH ROW EXECUTE FUNCTION pgboost_catalog.privilege_changed();
CREATE TRIGGER all_rows_removed AFTER TRUNCATE ON pgboost_catalog.model
    FOR EACH STATEMENT EXECUTE FUNCTION pgboost_catalog.registry_changed();
CREATE TRIGGER all_rows_removed AFTER TRUNCATE ON pgboost_catalog.version
    FOR EACH STATEMENT EXECUTE FUNCTION pgboost_catalog.registry_changed();
CREATE TRIGGER all_rows_removed AFTER TRUNCATE ON pgboost_catalog.privilege
    FOR EACH STATEMENT EXECUTE FUNCTION pgboost_catalog.registry_changed();
CREATE TRIGGER all_rows_removed AFTER TRUNCATE ON pgboost_catalog.alias
    FOR EACH STATEMENT EXECUTE FUNCTION pgboost_catalog.registry_changed();

ALTER TABLE pgboost_catalog.model ENABLE ALWAYS TRIGGER row_changed;
ALTER TABLE pgboost_catalog.version ENABLE ALWAYS TRIGGER row_changed;
ALTER TABLE pgboost_catalog.privilege ENABLE ALWAYS TRIGGER row_changed;
ALTER TABLE pgboost_catalog.privilege ENABLE ALWAYS TRIGGER role_named;
ALTER TABLE pgboost_catalog.privilege ENABLE ALWAYS TRIGGER role_unnamed;
ALTER TABLE pgboost_catalog.model ENABLE ALWAYS TRIGGER all_rows_removed;
ALTER TABLE pgboost_catalog.version ENABLE ALWAYS TRIGGER all_rows_removed;
ALTER TABLE pgboost_catalog.privilege ENABLE ALWAYS TRIGGER all_rows_removed;
ALTER TABLE pgboost_catalog.alias ENABLE ALWAYS TRIGGER row_changed;
ALTER TABLE pgboost_catalog.alias ENABLE ALWAYS TRIGGER all_rows_removed;

-- The functions of the extension. docs/sql-reference.md describes them.

CREATE FUNCTION pgboost_catalog.predict_support(internal) RETURNS internal
    LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'pgboost_predict_support';
COMMENT ON FUNCTION pgboost_catalog.predict_support(internal) IS
    'pgboost: estimates the cost of a prediction for the planner';

CREATE FUNCTION @extschema@.predict(model text, VARIADIC features "any") RETURNS real
    LANGUAGE c STABLE PARALLEL SAFE COST 20 SUPPORT pgboost_catalog.predict_support
    AS 'MODULE_PATHNAME', 'pgboost_predict';
COMMENT ON FUNCTION @extschema@.predict(text, "any") IS
    'predicts the value of a row, for a model with one value per row';

CREATE FUNCTION @extschema@.predict_array(model text, VARIADIC features "any") RETURNS real[]
    LANGUAGE c STABLE PARALLEL SAFE COST 20 SUPPORT pgboost_catalog.predict_support
    AS 'MODULE_PATHNAME', 'pgboost_predict_array';
COMMENT ON FUNCTION @extschema@.predict_array(text, "any") IS
    'predicts all values of a row: probabilities, targets or quantiles';

CREATE FUNCTION pgboost_catalog.batch_support(internal) RETURNS internal
    LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'pgboost_batch_support';
COMMENT ON FUNCTION pgboost_catalog.batch_support(internal) IS
    'pgboost: estimates the cost of predicting the rows of an array for the planner';

CREATE FUNCTION @extschema@.predict_batch(model text, features "any") RETURNS real[]
    LANGUAGE c STABLE PARALLEL SAFE COST 200 SUPPORT pgboost_catalog.batch_support
    AS 'MODULE_PATHNAME', 'pgboost_predict_batch';
COMMENT ON FUNCTION @extschema@.predict_batch(text, "any") IS
    'predicts the values of each row of an array of two dimensions';

CREATE FUNCTION @extschema@.predict_class(model text, VARIADIC features "any") RETURNS text
    LANGUAGE c STABLE PARALLEL SAFE COST 20 SUPPORT pgboost_catalog.predict_support
    AS 'MODULE_PATHNAME', 'pgboost_predict_class';
COMMENT ON FUNCTION @extschema@.predict_class(text, "any") IS 'predicts the class of a row, as its label';

CREATE FUNCTION @extschema@.predict_margin(model text, VARIADIC features "any") RETURNS real[]
    LANGUAGE c STABLE PARALLEL SAFE COST 20 SUPPORT pgboost_catalog.predict_support
    AS 'MODULE_PATHNAME', 'pgboost_predict_margin';
COMMENT ON FUNCTION @extschema@.predict_margin(text, "any") IS
    'predicts the margins of a row: the sums of leaves before the transform of the objective';

CREATE FUNCTION @extschema@.predict_proba(model text, VARIADIC features "any") RETURNS jsonb
    LANGUAGE c STABLE PARALLEL SAFE COST 100 SUPPORT pgboost_catalog.predict_support
    AS 'MODULE_PATHNAME', 'pgboost_predict_proba';
COMMENT ON FUNCTION @extschema@.predict_proba(text, "any") IS
    'predicts the probability of each class, as an object by label';

CREATE FUNCTION pgboost_catalog.pinned_support(internal) RETURNS internal
    LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'pgboost_pinned_support';
COMMENT ON FUNCTION pgboost_catalog.pinned_support(internal) IS
    'pgboost: tells the planner what a prediction costs, and keeps the version that an expression names';

CREATE FUNCTION @extschema@.predict_pinned(model text, VARIADIC features "any") RETURNS real
    LANGUAGE c IMMUTABLE PARALLEL SAFE COST 20 SUPPORT pgboost_catalog.pinned_support
    AS 'MODULE_PATHNAME', 'pgboost_predict_pinned';
COMMENT ON FUNCTION @extschema@.predict_pinned(text, "any") IS
    'predicts with a pinned version; immutable, so that indexes and generated columns may use it';

CREATE FUNCTION @extschema@.predict_from(model text, base_margin double precision, VARIADIC features "any")
    RETURNS real
    LANGUAGE c STABLE PARALLEL SAFE COST 20 SUPPORT pgboost_catalog.predict_support
    AS 'MODULE_PATHNAME', 'pgboost_predict_from';
COMMENT ON FUNCTION @extschema@.predict_from(text, double precision, "any") IS
    'predicts with a base margin in place of the model''s base score';

CREATE FUNCTION @extschema@.predict_leaf(model text, VARIADIC features "any") RETURNS integer[]
    LANGUAGE c STABLE PARALLEL SAFE COST 20 SUPPORT pgboost_catalog.predict_support
    AS 'MODULE_PATHNAME', 'pgboost_predict_leaf';
COMMENT ON FUNCTION @extschema@.predict_leaf(text, "any") IS
    'returns the id of the leaf of each tree that a row falls into';

CREATE FUNCTION pgboost_catalog.explain_support(internal) RETURNS internal
    LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'pgboost_explain_support';
COMMENT ON FUNCTION pgboost_catalog.explain_support(internal) IS
    'pgboost: estimates the cost of an explanation for the planner';

CREATE FUNCTION @extschema@.predict_contribs(model text, VARIADIC features "any") RETURNS real[]
    LANGUAGE c STABLE PARALLEL SAFE COST 1000 SUPPORT pgboost_catalog.explain_support
    AS 'MODULE_PATHNAME', 'pgboost_predict_contribs';
COMMENT ON FUNCTION @extschema@.predict_contribs(text, "any") IS
    'computes the SHAP values of a row: the contribution of each feature to the margins, and the bias';

CREATE FUNCTION @extschema@.predict_interactions(model text, VARIADIC features "any") RETURNS real[]
    LANGUAGE c STABLE PARALLEL SAFE COST 10000 SUPPORT pgboost_catalog.explain_support
    AS 'MODULE_PATHNAME', 'pgboost_predict_interactions';
COMMENT ON FUNCTION @extschema@.predict_interactions(text, "any") IS
    'computes the SHAP interaction values of a row: the contribution of each pair of features to the margins';

CREATE FUNCTION @extschema@.explain_prediction(model text, features "any", top integer DEFAULT 10,
    output text DEFAULT NULL)
    RETURNS TABLE (feature text, value text, contribution real)
    LANGUAGE c STABLE PARALLEL SAFE COST 1000 ROWS 12 SUPPORT pgboost_catalog.explain_support
    AS 'MODULE_PATHNAME', 'pgboost_explain_prediction_wrapper';
COMMENT ON FUNCTION @extschema@.explain_prediction(text, "any", integer, text) IS
    'lists the contributions to the prediction of a row, the largest first';

CREATE FUNCTION pgboost_catalog.contribs_add(double precision[], real[]) RETURNS double precision[]
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
    AS 'MODULE_PATHNAME', 'pgboost_contribs_add';
CREATE FUNCTION pgboost_catalog.contribs_combine(double precision[], double precision[])
    RETURNS double precision[]
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
    AS 'MODULE_PATHNAME', 'pgboost_contribs_combine';
CREATE FUNCTION pgboost_catalog.contribs_mean(double precision[]) RETURNS real[]
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
    AS 'MODULE_PATHNAME', 'pgboost_contribs_mean';
CREATE AGGREGATE @extschema@.mean_abs_contribs(contributions real[]) (
    SFUNC = pgboost_catalog.contribs_add, STYPE = double precision[], INITCOND = '{}',
    COMBINEFUNC = pgboost_catalog.contribs_combine, FINALFUNC = pgboost_catalog.contribs_mean,
    PARALLEL = SAFE);
COMMENT ON AGGREGATE @extschema@.mean_abs_contribs(real[]) IS
    'computes the mean absolute contribution of each feature over many rows';

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

CREATE FUNCTION @extschema@.drop_model(model text)
    RETURNS void LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'pgboost_drop_model_wrapper';
REVOKE ALL ON FUNCTION @extschema@.drop_model(text) FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.drop_model(text) IS
    'drops a version of a model, m@3, or with the name alone the model and all its versions';

CREATE FUNCTION @extschema@.set_alias(model text, alias text, allow_change boolean DEFAULT false)
    RETURNS void LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'pgboost_set_alias_1_1_wrapper';
REVOKE ALL ON FUNCTION @extschema@.set_alias(text, text, boolean) FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.set_alias(text, text, boolean) IS
    'sets an alias of a version, so that model@alias refers to it';

CREATE FUNCTION @extschema@.drop_alias(model text)
    RETURNS void LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'pgboost_drop_alias_wrapper';
REVOKE ALL ON FUNCTION @extschema@.drop_alias(text) FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.drop_alias(text) IS 'drops an alias, m@alias';

CREATE FUNCTION @extschema@.pin_model(model text)
    RETURNS void LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'pgboost_pin_model_wrapper';
REVOKE ALL ON FUNCTION @extschema@.pin_model(text) FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.pin_model(text) IS
    'pins a version of a model, so that predict_pinned may use it and nobody can drop it';

CREATE FUNCTION @extschema@.unpin_model(model text)
    RETURNS void LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'pgboost_unpin_model_wrapper';
REVOKE ALL ON FUNCTION @extschema@.unpin_model(text) FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.unpin_model(text) IS
    'unpins a version that no stored expression predicts with';

CREATE FUNCTION @extschema@.create_predict_function(model text, function text DEFAULT NULL,
    schema text DEFAULT NULL, output text DEFAULT NULL, replace boolean DEFAULT false)
    RETURNS regprocedure LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'pgboost_create_predict_function_wrapper';
REVOKE ALL ON FUNCTION @extschema@.create_predict_function(text, text, text, text, boolean) FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.create_predict_function(text, text, text, text, boolean) IS
    'creates a function that predicts with a model, with its features as arguments';

CREATE FUNCTION @extschema@.export_model(model text)
    RETURNS bytea LANGUAGE c STABLE PARALLEL SAFE
    AS 'MODULE_PATHNAME', 'pgboost_export_model_wrapper';
COMMENT ON FUNCTION @extschema@.export_model(text) IS 'returns a model file as it was loaded';

CREATE FUNCTION @extschema@.export_model_sql(model text, function text DEFAULT NULL,
    schema text DEFAULT 'public', drop boolean DEFAULT false)
    RETURNS text LANGUAGE c STABLE PARALLEL SAFE
    AS 'MODULE_PATHNAME', 'pgboost_export_model_sql_wrapper';
COMMENT ON FUNCTION @extschema@.export_model_sql(text, text, text, boolean) IS
    'returns a script that creates a model as SQL functions, for servers without pgboost';

CREATE FUNCTION @extschema@.rename_model(model text, new_name text)
    RETURNS void LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'pgboost_rename_model_wrapper';
COMMENT ON FUNCTION @extschema@.rename_model(text, text) IS 'renames a model';

CREATE FUNCTION @extschema@.set_model_owner(model text, role text)
    RETURNS void LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'pgboost_set_model_owner_wrapper';
COMMENT ON FUNCTION @extschema@.set_model_owner(text, text) IS
    'changes the owner of a model to a role that the current user is a member of';

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

CREATE FUNCTION @extschema@.model_info(model text)
    RETURNS jsonb LANGUAGE c STABLE PARALLEL SAFE
    AS 'MODULE_PATHNAME', 'pgboost_model_info_wrapper';
COMMENT ON FUNCTION @extschema@.model_info(text) IS 'returns the metadata of a model, as an object';

CREATE FUNCTION @extschema@.model_features(model text)
    RETURNS TABLE ("position" integer, feature text, type text, categories text[])
    LANGUAGE c STABLE PARALLEL SAFE ROWS 20
    AS 'MODULE_PATHNAME', 'pgboost_model_features_wrapper';
COMMENT ON FUNCTION @extschema@.model_features(text) IS 'lists the features of a model, in its order';

CREATE FUNCTION @extschema@.feature_importance(model text, importance_type text DEFAULT 'gain')
    RETURNS TABLE (feature text, importance real)
    LANGUAGE c STABLE PARALLEL SAFE ROWS 20
    AS 'MODULE_PATHNAME', 'pgboost_feature_importance_wrapper';
COMMENT ON FUNCTION @extschema@.feature_importance(text, text) IS
    'lists the importance of each feature: weight, gain, cover, total_gain or total_cover';

-- Metrics. Aggregates of the same arguments share their state, those with boolean or numeric targets and with
-- or without weights are apart.

CREATE FUNCTION pgboost_catalog.error_add(double precision[], double precision, double precision)
    RETURNS double precision[]
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'pgboost_error_add';
CREATE FUNCTION pgboost_catalog.error_add(double precision[], double precision, double precision,
    double precision)
    RETURNS double precision[]
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'pgboost_error_add';
CREATE FUNCTION pgboost_catalog.error_combine(double precision[], double precision[])
    RETURNS double precision[]
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'pgboost_error_combine';
CREATE FUNCTION pgboost_catalog.rmse(double precision[]) RETURNS double precision
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'pgboost_rmse';
CREATE FUNCTION pgboost_catalog.mse(double precision[]) RETURNS double precision
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'pgboost_mse';
CREATE FUNCTION pgboost_catalog.mae(double precision[]) RETURNS double precision
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'pgboost_mae';
CREATE FUNCTION pgboost_catalog.mape(double precision[]) RETURNS double precision
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'pgboost_mape';
CREATE FUNCTION pgboost_catalog.r2(double precision[]) RETURNS double precision
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'pgboost_r2';
CREATE FUNCTION pgboost_catalog.probability_add(double precision[], double precision, double precision)
    RETURNS double precision[]
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'pgboost_probability_add';
CREATE FUNCTION pgboost_catalog.probability_add(double precision[], double precision, double precision,
    double precision)
    RETURNS double precision[]
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'pgboost_probability_add';
CREATE FUNCTION pgboost_catalog.probability_add(double precision[], double precision, boolean)
    RETURNS double precision[]
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'pgboost_probability_add_boolean';
CREATE FUNCTION pgboost_catalog.probability_add(double precision[], double precision, boolean,
    double precision)
    RETURNS double precision[]
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'pgboost_probability_add_boolean';
CREATE FUNCTION pgboost_catalog.probabilities_add(double precision[], real[], integer)
    RETURNS double precision[]
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'pgboost_probabilities_add';
CREATE FUNCTION pgboost_catalog.probabilities_add(double precision[], real[], integer, double precision)
    RETURNS double precision[]
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'pgboost_probabilities_add';
CREATE FUNCTION pgboost_catalog.class_add(double precision[], anycompatible, anycompatible)
    RETURNS double precision[]
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'pgboost_class_add';
CREATE FUNCTION pgboost_catalog.class_add(double precision[], anycompatible, anycompatible, double precision)
    RETURNS double precision[]
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'pgboost_class_add';
CREATE FUNCTION pgboost_catalog.mean_combine(double precision[], double precision[])
    RETURNS double precision[]
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'pgboost_mean_combine';
CREATE FUNCTION pgboost_catalog.first_mean(double precision[]) RETURNS double precision
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'pgboost_first_mean';
CREATE FUNCTION pgboost_catalog.second_mean(double precision[]) RETURNS double precision
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'pgboost_second_mean';
CREATE FUNCTION pgboost_catalog.score_add(internal, double precision, double precision) RETURNS internal
    LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'pgboost_score_add';
CREATE FUNCTION pgboost_catalog.score_add(internal, double precision, double precision, double precision)
    RETURNS internal
    LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'pgboost_score_add';
CREATE FUNCTION pgboost_catalog.score_add(internal, double precision, boolean) RETURNS internal
    LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'pgboost_score_add_boolean';
CREATE FUNCTION pgboost_catalog.score_add(internal, double precision, boolean, double precision)
    RETURNS internal
    LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'pgboost_score_add_boolean';
CREATE FUNCTION pgboost_catalog.auc(internal) RETURNS double precision
    LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'pgboost_auc';
CREATE FUNCTION pgboost_catalog.aucpr(internal) RETURNS double precision
    LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'pgboost_aucpr';

CREATE AGGREGATE @extschema@.rmse(prediction double precision, target double precision) (
    SFUNC = pgboost_catalog.error_add, STYPE = double precision[], INITCOND = '{0,0,0,0,0,0,0}',
    COMBINEFUNC = pgboost_catalog.error_combine, FINALFUNC = pgboost_catalog.rmse, PARALLEL = SAFE);
COMMENT ON AGGREGATE @extschema@.rmse(double precision, double precision) IS
    'the root of the mean squared error';

CREATE AGGREGATE @extschema@.rmse(prediction double precision, target double precision,
    weight double precision) (
    SFUNC = pgboost_catalog.error_add, STYPE = double precision[], INITCOND = '{0,0,0,0,0,0,0}',
    COMBINEFUNC = pgboost_catalog.error_combine, FINALFUNC = pgboost_catalog.rmse, PARALLEL = SAFE);
COMMENT ON AGGREGATE @extschema@.rmse(double precision, double precision, double precision) IS
    'the root of the mean squared error';

CREATE AGGREGATE @extschema@.mse(prediction double precision, target double precision) (
    SFUNC = pgboost_catalog.error_add, STYPE = double precision[], INITCOND = '{0,0,0,0,0,0,0}',
    COMBINEFUNC = pgboost_catalog.error_combine, FINALFUNC = pgboost_catalog.mse, PARALLEL = SAFE);
COMMENT ON AGGREGATE @extschema@.mse(double precision, double precision) IS 'the mean squared error';

CREATE AGGREGATE @extschema@.mse(prediction double precision, target double precision,
    weight double precision) (
    SFUNC = pgboost_catalog.error_add, STYPE = double precision[], INITCOND = '{0,0,0,0,0,0,0}',
    COMBINEFUNC = pgboost_catalog.error_combine, FINALFUNC = pgboost_catalog.mse, PARALLEL = SAFE);
COMMENT ON AGGREGATE @extschema@.mse(double precision, double precision, double precision) IS
    'the mean squared error';

CREATE AGGREGATE @extschema@.mae(prediction double precision, target double precision) (
    SFUNC = pgboost_catalog.error_add, STYPE = double precision[], INITCOND = '{0,0,0,0,0,0,0}',
    COMBINEFUNC = pgboost_catalog.error_combine, FINALFUNC = pgboost_catalog.mae, PARALLEL = SAFE);
COMMENT ON AGGREGATE @extschema@.mae(double precision, double precision) IS 'the mean absolute error';

CREATE AGGREGATE @extschema@.mae(prediction double precision, target double precision,
    weight double precision) (
    SFUNC = pgboost_catalog.error_add, STYPE = double precision[], INITCOND = '{0,0,0,0,0,0,0}',
    COMBINEFUNC = pgboost_catalog.error_combine, FINALFUNC = pgboost_catalog.mae, PARALLEL = SAFE);
COMMENT ON AGGREGATE @extschema@.mae(double precision, double precision, double precision) IS
    'the mean absolute error';

CREATE AGGREGATE @extschema@.mape(prediction double precision, target double precision) (
    SFUNC = pgboost_catalog.error_add, STYPE = double precision[], INITCOND = '{0,0,0,0,0,0,0}',
    COMBINEFUNC = pgboost_catalog.error_combine, FINALFUNC = pgboost_catalog.mape, PARALLEL = SAFE);
COMMENT ON AGGREGATE @extschema@.mape(double precision, double precision) IS
    'the mean absolute error relative to the target';

CREATE AGGREGATE @extschema@.mape(prediction double precision, target double precision,
    weight double precision) (
    SFUNC = pgboost_catalog.error_add, STYPE = double precision[], INITCOND = '{0,0,0,0,0,0,0}',
    COMBINEFUNC = pgboost_catalog.error_combine, FINALFUNC = pgboost_catalog.mape, PARALLEL = SAFE);
COMMENT ON AGGREGATE @extschema@.mape(double precision, double precision, double precision) IS
    'the mean absolute error relative to the target';

CREATE AGGREGATE @extschema@.r2(prediction double precision, target double precision) (
    SFUNC = pgboost_catalog.error_add, STYPE = double precision[], INITCOND = '{0,0,0,0,0,0,0}',
    COMBINEFUNC = pgboost_catalog.error_combine, FINALFUNC = pgboost_catalog.r2, PARALLEL = SAFE);
COMMENT ON AGGREGATE @extschema@.r2(double precision, double precision) IS 'the coefficient of determination';

CREATE AGGREGATE @extschema@.r2(prediction double precision, target double precision,
    weight double precision) (
    SFUNC = pgboost_catalog.error_add, STYPE = double precision[], INITCOND = '{0,0,0,0,0,0,0}',
    COMBINEFUNC = pgboost_catalog.error_combine, FINALFUNC = pgboost_catalog.r2, PARALLEL = SAFE);
COMMENT ON AGGREGATE @extschema@.r2(double precision, double precision, double precision) IS
    'the coefficient of determination';

CREATE AGGREGATE @extschema@.logloss(probability double precision, target double precision) (
    SFUNC = pgboost_catalog.probability_add, STYPE = double precision[], INITCOND = '{0,0,0}',
    COMBINEFUNC = pgboost_catalog.mean_combine, FINALFUNC = pgboost_catalog.first_mean, PARALLEL = SAFE);
COMMENT ON AGGREGATE @extschema@.logloss(double precision, double precision) IS
    'the logarithmic loss of the probability of the second of two classes';

CREATE AGGREGATE @extschema@.logloss(probability double precision, target double precision,
    weight double precision) (
    SFUNC = pgboost_catalog.probability_add, STYPE = double precision[], INITCOND = '{0,0,0}',
    COMBINEFUNC = pgboost_catalog.mean_combine, FINALFUNC = pgboost_catalog.first_mean, PARALLEL = SAFE);
COMMENT ON AGGREGATE @extschema@.logloss(double precision, double precision, double precision) IS
    'the logarithmic loss of the probability of the second of two classes';

CREATE AGGREGATE @extschema@.brier(probability double precision, target double precision) (
    SFUNC = pgboost_catalog.probability_add, STYPE = double precision[], INITCOND = '{0,0,0}',
    COMBINEFUNC = pgboost_catalog.mean_combine, FINALFUNC = pgboost_catalog.second_mean, PARALLEL = SAFE);
COMMENT ON AGGREGATE @extschema@.brier(double precision, double precision) IS
    'the mean squared error of the probability of the second of two classes';

CREATE AGGREGATE @extschema@.brier(probability double precision, target double precision,
    weight double precision) (
    SFUNC = pgboost_catalog.probability_add, STYPE = double precision[], INITCOND = '{0,0,0}',
    COMBINEFUNC = pgboost_catalog.mean_combine, FINALFUNC = pgboost_catalog.second_mean, PARALLEL = SAFE);
COMMENT ON AGGREGATE @extschema@.brier(double precision, double precision, double precision) IS
    'the mean squared error of the probability of the second of two classes';

CREATE AGGREGATE @extschema@.auc(score double precision, target double precision) (
    SFUNC = pgboost_catalog.score_add, STYPE = internal, SSPACE = 65536,
    FINALFUNC = pgboost_catalog.auc, FINALFUNC_MODIFY = SHAREABLE, PARALLEL = SAFE);
COMMENT ON AGGREGATE @extschema@.auc(double precision, double precision) IS 'the area under the ROC curve';

CREATE AGGREGATE @extschema@.auc(score double precision, target double precision, weight double precision) (
    SFUNC = pgboost_catalog.score_add, STYPE = internal, SSPACE = 65536,
    FINALFUNC = pgboost_catalog.auc, FINALFUNC_MODIFY = SHAREABLE, PARALLEL = SAFE);
COMMENT ON AGGREGATE @extschema@.auc(double precision, double precision, double precision) IS
    'the area under the ROC curve';

CREATE AGGREGATE @extschema@.aucpr(score double precision, target double precision) (
    SFUNC = pgboost_catalog.score_add, STYPE = internal, SSPACE = 65536,
    FINALFUNC = pgboost_catalog.aucpr, FINALFUNC_MODIFY = SHAREABLE, PARALLEL = SAFE);
COMMENT ON AGGREGATE @extschema@.aucpr(double precision, double precision) IS 'the average precision';

CREATE AGGREGATE @extschema@.aucpr(score double precision, target double precision, weight double precision) (
    SFUNC = pgboost_catalog.score_add, STYPE = internal, SSPACE = 65536,
    FINALFUNC = pgboost_catalog.aucpr, FINALFUNC_MODIFY = SHAREABLE, PARALLEL = SAFE);
COMMENT ON AGGREGATE @extschema@.aucpr(double precision, double precision, double precision) IS
    'the average precision';

CREATE AGGREGATE @extschema@.logloss(probability double precision, target boolean) (
    SFUNC = pgboost_catalog.probability_add, STYPE = double precision[], INITCOND = '{0,0,0}',
    COMBINEFUNC = pgboost_catalog.mean_combine, FINALFUNC = pgboost_catalog.first_mean, PARALLEL = SAFE);
COMMENT ON AGGREGATE @extschema@.logloss(double precision, boolean) IS
    'the logarithmic loss of the probability of the second of two classes';

CREATE AGGREGATE @extschema@.logloss(probability double precision, target boolean, weight double precision) (
    SFUNC = pgboost_catalog.probability_add, STYPE = double precision[], INITCOND = '{0,0,0}',
    COMBINEFUNC = pgboost_catalog.mean_combine, FINALFUNC = pgboost_catalog.first_mean, PARALLEL = SAFE);
COMMENT ON AGGREGATE @extschema@.logloss(double precision, boolean, double precision) IS
    'the logarithmic loss of the probability of the second of two classes';

CREATE AGGREGATE @extschema@.brier(probability double precision, target boolean) (
    SFUNC = pgboost_catalog.probability_add, STYPE = double precision[], INITCOND = '{0,0,0}',
    COMBINEFUNC = pgboost_catalog.mean_combine, FINALFUNC = pgboost_catalog.second_mean, PARALLEL = SAFE);
COMMENT ON AGGREGATE @extschema@.brier(double precision, boolean) IS
    'the mean squared error of the probability of the second of two classes';

CREATE AGGREGATE @extschema@.brier(probability double precision, target boolean, weight double precision) (
    SFUNC = pgboost_catalog.probability_add, STYPE = double precision[], INITCOND = '{0,0,0}',
    COMBINEFUNC = pgboost_catalog.mean_combine, FINALFUNC = pgboost_catalog.second_mean, PARALLEL = SAFE);
COMMENT ON AGGREGATE @extschema@.brier(double precision, boolean, double precision) IS
    'the mean squared error of the probability of the second of two classes';

CREATE AGGREGATE @extschema@.auc(score double precision, target boolean) (
    SFUNC = pgboost_catalog.score_add, STYPE = internal, SSPACE = 65536,
    FINALFUNC = pgboost_catalog.auc, FINALFUNC_MODIFY = SHAREABLE, PARALLEL = SAFE);
COMMENT ON AGGREGATE @extschema@.auc(double precision, boolean) IS 'the area under the ROC curve';

CREATE AGGREGATE @extschema@.auc(score double precision, target boolean, weight double precision) (
    SFUNC = pgboost_catalog.score_add, STYPE = internal, SSPACE = 65536,
    FINALFUNC = pgboost_catalog.auc, FINALFUNC_MODIFY = SHAREABLE, PARALLEL = SAFE);
COMMENT ON AGGREGATE @extschema@.auc(double precision, boolean, double precision) IS
    'the area under the ROC curve';

CREATE AGGREGATE @extschema@.aucpr(score double precision, target boolean) (
    SFUNC = pgboost_catalog.score_add, STYPE = internal, SSPACE = 65536,
    FINALFUNC = pgboost_catalog.aucpr, FINALFUNC_MODIFY = SHAREABLE, PARALLEL = SAFE);
COMMENT ON AGGREGATE @extschema@.aucpr(double precision, boolean) IS 'the average precision';

CREATE AGGREGATE @extschema@.aucpr(score double precision, target boolean, weight double precision) (
    SFUNC = pgboost_catalog.score_add, STYPE = internal, SSPACE = 65536,
    FINALFUNC = pgboost_catalog.aucpr, FINALFUNC_MODIFY = SHAREABLE, PARALLEL = SAFE);
COMMENT ON AGGREGATE @extschema@.aucpr(double precision, boolean, double precision) IS
    'the average precision';

CREATE AGGREGATE @extschema@.mlogloss(probabilities real[], target integer) (
    SFUNC = pgboost_catalog.probabilities_add, STYPE = double precision[], INITCOND = '{0,0,0}',
    COMBINEFUNC = pgboost_catalog.mean_combine, FINALFUNC = pgboost_catalog.first_mean, PARALLEL = SAFE);
COMMENT ON AGGREGATE @extschema@.mlogloss(real[], integer) IS
    'the logarithmic loss of the probabilities of several classes, which are numbered from 0';

CREATE AGGREGATE @extschema@.mlogloss(probabilities real[], target integer, weight double precision) (
    SFUNC = pgboost_catalog.probabilities_add, STYPE = double precision[], INITCOND = '{0,0,0}',
    COMBINEFUNC = pgboost_catalog.mean_combine, FINALFUNC = pgboost_catalog.first_mean, PARALLEL = SAFE);
COMMENT ON AGGREGATE @extschema@.mlogloss(real[], integer, double precision) IS
    'the logarithmic loss of the probabilities of several classes, which are numbered from 0';

CREATE AGGREGATE @extschema@.accuracy(prediction anycompatible, target anycompatible) (
    SFUNC = pgboost_catalog.class_add, STYPE = double precision[], INITCOND = '{0,0,0}',
    COMBINEFUNC = pgboost_catalog.mean_combine, FINALFUNC = pgboost_catalog.first_mean, PARALLEL = SAFE);
COMMENT ON AGGREGATE @extschema@.accuracy(anycompatible, anycompatible) IS
    'the share of rows with the right class';

CREATE AGGREGATE @extschema@.accuracy(prediction anycompatible, target anycompatible,
    weight double precision) (
    SFUNC = pgboost_catalog.class_add, STYPE = double precision[], INITCOND = '{0,0,0}',
    COMBINEFUNC = pgboost_catalog.mean_combine, FINALFUNC = pgboost_catalog.first_mean, PARALLEL = SAFE);
COMMENT ON AGGREGATE @extschema@.accuracy(anycompatible, anycompatible, double precision) IS
    'the share of rows with the right class';

CREATE FUNCTION @extschema@.evaluate_model(model text, source text, target text, weight text DEFAULT NULL,
    slice_by text DEFAULT NULL, qid text DEFAULT NULL, quantile_alpha double precision[] DEFAULT NULL)
    RETURNS TABLE (slice text, metric text, value double precision, rows bigint)
    LANGUAGE c VOLATILE ROWS 10
    AS 'MODULE_PATHNAME', 'pgboost_evaluate_model_wrapper';
COMMENT ON FUNCTION @extschema@.evaluate_model(text, text, text, text, text, text, double precision[]) IS
    'computes the metrics of a model on the rows of a table, a view or a query';

CREATE FUNCTION @extschema@.compare_models(baseline text, candidate text, source text, target text,
    weight text DEFAULT NULL, quantile_alpha double precision[] DEFAULT NULL)
    RETURNS TABLE (metric text, baseline_value double precision, candidate_value double precision,
        difference double precision, ci_lower double precision, ci_upper double precision, better_rows bigint,
        worse_rows bigint, verdict text)
    LANGUAGE c VOLATILE ROWS 3
    AS 'MODULE_PATHNAME', 'pgboost_compare_models_wrapper';
COMMENT ON FUNCTION @extschema@.compare_models(text, text, text, text, text, double precision[]) IS
    'compares the losses of two models on the same rows, with the confidence interval of the difference';

CREATE FUNCTION @extschema@.set_baseline(model text, source text)
    RETURNS void LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'pgboost_set_baseline_wrapper';
COMMENT ON FUNCTION @extschema@.set_baseline(text, text) IS
    'stores the distribution of each feature in a table, a view or a query as the baseline of feature_drift';

CREATE FUNCTION @extschema@.set_baseline(model text, baseline jsonb)
    RETURNS void LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'pgboost_set_baseline_jsonb_wrapper';
COMMENT ON FUNCTION @extschema@.set_baseline(text, jsonb) IS
    'stores a baseline that train_model or another database has computed';

CREATE FUNCTION @extschema@.feature_baseline(model text)
    RETURNS TABLE (feature text, rows bigint, missing bigint, quantiles double precision[], categories text[],
        shares double precision[])
    LANGUAGE c STABLE PARALLEL SAFE ROWS 20
    AS 'MODULE_PATHNAME', 'pgboost_feature_baseline_wrapper';
COMMENT ON FUNCTION @extschema@.feature_baseline(text) IS 'lists the baseline of each feature';

CREATE FUNCTION @extschema@.feature_drift(model text, source text)
    RETURNS TABLE (feature text, severity text, psi double precision, ks double precision,
        p_value double precision, baseline_missing double precision, missing double precision,
        baseline_rows bigint, rows bigint)
    LANGUAGE c VOLATILE ROWS 20
    AS 'MODULE_PATHNAME', 'pgboost_feature_drift_wrapper';
COMMENT ON FUNCTION @extschema@.feature_drift(text, text) IS
    'measures the drift of the features of a table, a view or a query from the baseline';

-- The effects of features on predictions and on a metric.

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

-- What follows is called with the privileges of whoever reads the view.
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA pgboost_catalog FROM PUBLIC;

-- Privileges are as of now, whatever rows the statement's snapshot sees.
CREATE FUNCTION pgboost_catalog.may_predict(model uuid) RETURNS boolean
    LANGUAGE c STABLE STRICT PARALLEL SAFE COST 100
    AS 'MODULE_PATHNAME', 'pgboost_may_predict_wrapper';
COMMENT ON FUNCTION pgboost_catalog.may_predict(uuid) IS
    'pgboost: whether the current user may predict with a model';

CREATE FUNCTION pgboost_catalog.owner(model uuid) RETURNS regrole
    LANGUAGE c STABLE STRICT PARALLEL SAFE COST 100
    AS 'MODULE_PATHNAME', 'pgboost_owner_wrapper';
COMMENT ON FUNCTION pgboost_catalog.owner(uuid) IS 'pgboost: returns the owner of a model';

CREATE VIEW @extschema@.pgboost_models WITH (security_barrier) AS
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
GRANT SELECT ON @extschema@.pgboost_models TO PUBLIC;
COMMENT ON VIEW @extschema@.pgboost_models IS
    'pgboost: the models, and their versions, that the current user may predict with';

CREATE VIEW @extschema@.pgboost_aliases WITH (security_barrier) AS
    SELECT m.name, a.alias, a.version
      FROM pgboost_catalog.alias AS a
      JOIN pgboost_catalog.model AS m ON m.id OPERATOR(pg_catalog.=) a.model
      JOIN pgboost_catalog.version AS v ON v.model OPERATOR(pg_catalog.=) a.model
                                       AND v.version OPERATOR(pg_catalog.=) a.version
     WHERE pgboost_catalog.may_predict(m.id);
GRANT SELECT ON @extschema@.pgboost_aliases TO PUBLIC;
COMMENT ON VIEW @extschema@.pgboost_aliases IS
    'pgboost: the aliases of the models that the current user may predict with';

CREATE FUNCTION pgboost_catalog.statistics(model uuid, version integer)
    RETURNS TABLE (calls bigint, rows bigint, batches bigint, total_time double precision,
        missing_rows bigint, outside_rows bigint, last_used double precision, unknown_rows bigint)
    LANGUAGE c VOLATILE ROWS 1 PARALLEL SAFE
    AS 'MODULE_PATHNAME', 'pgboost_statistics_1_1_wrapper';
COMMENT ON FUNCTION pgboost_catalog.statistics(uuid, integer) IS
    'pgboost: returns the counters of a version, if the current user may see them; use the view pg_stat_pgboost';

CREATE FUNCTION @extschema@.pg_stat_pgboost_reset()
    RETURNS void LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'pgboost_statistics_reset_wrapper';
REVOKE ALL ON FUNCTION @extschema@.pg_stat_pgboost_reset() FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.pg_stat_pgboost_reset() IS 'sets the counters of pg_stat_pgboost to zero';

-- Members of pg_read_all_stats, such as pg_monitor, see all models here, as they see all of PostgreSQL's
-- statistics. For others the function returns no row of a model that they may not predict with.
CREATE VIEW @extschema@.pg_stat_pgboost WITH (security_barrier) AS
    SELECT m.name, v.version, COALESCE(v.version OPERATOR(pg_catalog.=) m.deployed, false) AS deployed,
           s.calls, s.rows, s.batches, s.total_time, s.missing_rows, s.outside_rows,
           pg_catalog.to_timestamp(s.last_used) AS last_used,
           s.unknown_rows
      FROM pgboost_catalog.model AS m
      JOIN pgboost_catalog.version AS v ON v.model OPERATOR(pg_catalog.=) m.id,
           LATERAL pgboost_catalog.statistics(m.id, v.version) AS s;
GRANT SELECT ON @extschema@.pg_stat_pgboost TO PUBLIC;
COMMENT ON VIEW @extschema@.pg_stat_pgboost IS
    'pgboost: the use of each version, counted while pgboost.track_predictions is on';

-- Deployments.

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
