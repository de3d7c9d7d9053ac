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

CREATE TABLE pgboost_catalog.model (
    name text COLLATE "C" CONSTRAINT model_pkey PRIMARY KEY,
    deployed integer,
    last_version integer NOT NULL
);

CREATE TABLE pgboost_catalog.version (
    model text COLLATE "C" NOT NULL,
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
    CONSTRAINT version_pkey PRIMARY KEY (model, version)
);

-- A model's file in parts of some megabytes, each with the number of bytes before it. Parts are what a cancel
-- waits for, and are stored as they are: to compress the largest file takes seconds.
CREATE TABLE pgboost_catalog.part (
    model text COLLATE "C" NOT NULL,
    version integer NOT NULL,
    start integer NOT NULL,
    bytes bytea NOT NULL,
    CONSTRAINT part_pkey PRIMARY KEY (model, version, start)
);

ALTER TABLE pgboost_catalog.part ALTER COLUMN bytes SET STORAGE EXTERNAL;

CREATE TABLE pgboost_catalog.privilege (
    model text COLLATE "C" NOT NULL,
    role regrole NOT NULL,
    privilege text COLLATE "C" NOT NULL
        CHECK (privilege OPERATOR(pg_catalog.=) ANY (ARRAY['owner', 'predict'])),
    CONSTRAINT privilege_pkey PRIMARY KEY (model, role, privilege)
);

CREATE UNIQUE INDEX privilege_one_owner ON pgboost_catalog.privilege (model)
    WHERE privilege OPERATOR(pg_catalog.=) 'owner';

CREATE TABLE pgboost_catalog.alias (
    model text COLLATE "C" NOT NULL,
    alias text COLLATE "C" NOT NULL,
    version integer NOT NULL,
    CONSTRAINT alias_pkey PRIMARY KEY (model, alias)
);

CREATE TABLE pgboost_catalog.function (
    model text COLLATE "C" NOT NULL,
    function text COLLATE "C" NOT NULL,
    CONSTRAINT function_pkey PRIMARY KEY (model, function)
);

CREATE TABLE pgboost_catalog.pinned (
    model text COLLATE "C" NOT NULL,
    version integer NOT NULL,
    CONSTRAINT pinned_pkey PRIMARY KEY (model, version)
);

COMMENT ON TABLE pgboost_catalog.model IS 'pgboost: one row per model; use the view pgboost_models';
COMMENT ON TABLE pgboost_catalog.version IS
    'pgboost: one row per version of a model, with the SHA-256 of its file';
COMMENT ON TABLE pgboost_catalog.part IS 'pgboost: the files of the versions as they were loaded, in parts';
COMMENT ON TABLE pgboost_catalog.privilege IS
    'pgboost: who owns a model and who may predict with it; role - is everybody';
COMMENT ON TABLE pgboost_catalog.alias IS 'pgboost: names for versions; use the view pgboost_aliases';
COMMENT ON TABLE pgboost_catalog.function IS
    'pgboost: the functions that create_predict_function has created';
COMMENT ON TABLE pgboost_catalog.pinned IS
    'pgboost: versions that were ever pinned; their numbers are not used again, even after drop_model';

SELECT pg_catalog.pg_extension_config_dump('pgboost_catalog.model', '');
SELECT pg_catalog.pg_extension_config_dump('pgboost_catalog.version', '');
SELECT pg_catalog.pg_extension_config_dump('pgboost_catalog.part', '');
-- Roles that were dropped are numbers, which may be other roles' where the dump is restored.
SELECT pg_catalog.pg_extension_config_dump('pgboost_catalog.privilege',
    'WHERE role OPERATOR(pg_catalog.=) 0::pg_catalog.oid '
    'OR EXISTS (SELECT FROM pg_catalog.pg_roles AS r WHERE r.oid OPERATOR(pg_catalog.=) role)');

-- What the features of a version were where it was trained: of numbers points of their distribution, each
-- with the shares of the numbers below it and up to it; of categories the share of each.
CREATE TABLE pgboost_catalog.baseline (
    model text COLLATE "C" NOT NULL,
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

CREATE TRIGGER row_changed AFTER INSERT OR UPDATE OR DELETE ON pgboost_catalog.model
    FOR EACH ROW EXECUTE FUNCTION pgboost_catalog.registry_changed();
CREATE TRIGGER row_changed AFTER INSERT OR UPDATE OR DELETE ON pgboost_catalog.version
    FOR EACH ROW EXECUTE FUNCTION pgboost_catalog.registry_changed();
CREATE TRIGGER row_changed AFTER INSERT OR UPDATE OR DELETE ON pgboost_catalog.privilege
    FOR EACH ROW EXECUTE FUNCTION pgboost_catalog.registry_changed();
CREATE TRIGGER row_changed AFTER INSERT OR UPDATE OR DELETE ON pgboost_catalog.alias
    FOR EACH ROW EXECUTE FUNCTION pgboost_catalog.registry_changed();
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
ALTER TABLE pgboost_catalog.model ENABLE ALWAYS TRIGGER all_rows_removed;
ALTER TABLE pgboost_catalog.version ENABLE ALWAYS TRIGGER all_rows_removed;
ALTER TABLE pgboost_catalog.privilege ENABLE ALWAYS TRIGGER all_rows_removed;
ALTER TABLE pgboost_catalog.alias ENABLE ALWAYS TRIGGER row_changed;
ALTER TABLE pgboost_catalog.alias ENABLE ALWAYS TRIGGER all_rows_removed;

CREATE VIEW @extschema@.pgboost_models WITH (security_barrier) AS
    SELECT m.name,
           v.version,
           COALESCE(v.version OPERATOR(pg_catalog.=) m.deployed, false) AS deployed,
           (SELECT p.role FROM pgboost_catalog.privilege AS p
             WHERE p.model OPERATOR(pg_catalog.=) m.name
               AND p.privilege OPERATOR(pg_catalog.=) 'owner') AS owner,
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
           v.pinned
      FROM pgboost_catalog.model AS m
      JOIN pgboost_catalog.version AS v ON v.model OPERATOR(pg_catalog.=) m.name
     WHERE (SELECT r.rolsuper FROM pg_catalog.pg_roles AS r
             WHERE r.rolname OPERATOR(pg_catalog.=) CURRENT_USER)
        OR EXISTS (SELECT FROM pgboost_catalog.privilege AS p
                    WHERE p.model OPERATOR(pg_catalog.=) m.name
                      AND (p.role OPERATOR(pg_catalog.=) 0::pg_catalog.oid
                           OR pg_catalog.pg_has_role(p.role, 'USAGE')));
GRANT SELECT ON @extschema@.pgboost_models TO PUBLIC;
COMMENT ON VIEW @extschema@.pgboost_models IS
    'pgboost: the models, and their versions, that the current user may predict with';

CREATE VIEW @extschema@.pgboost_aliases WITH (security_barrier) AS
    SELECT a.model AS name, a.alias, a.version
      FROM pgboost_catalog.alias AS a
      JOIN @extschema@.pgboost_models AS v ON v.name OPERATOR(pg_catalog.=) a.model
                                          AND v.version OPERATOR(pg_catalog.=) a.version;
GRANT SELECT ON @extschema@.pgboost_aliases TO PUBLIC;
COMMENT ON VIEW @extschema@.pgboost_aliases IS
    'pgboost: the aliases of the models that the current user may predict with';

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
    deploy boolean DEFAULT true)
    RETURNS integer LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'pgboost_load_model_wrapper';
REVOKE ALL ON FUNCTION @extschema@.load_model(text, bytea, text[], text[], jsonb, jsonb, integer, boolean,
    jsonb, boolean) FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.load_model(text, bytea, text[], text[], jsonb, jsonb, integer, boolean, jsonb,
    boolean) IS
    'stores a model file as a new version, deploys it by default, and gives its number';

CREATE FUNCTION @extschema@.deploy_model(model text)
    RETURNS void LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'pgboost_deploy_model_wrapper';
REVOKE ALL ON FUNCTION @extschema@.deploy_model(text) FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.deploy_model(text) IS
    'deploys a version of a model, m@3 or m@alias, so that the model''s name refers to it';

CREATE FUNCTION @extschema@.drop_model(model text)
    RETURNS void LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'pgboost_drop_model_wrapper';
REVOKE ALL ON FUNCTION @extschema@.drop_model(text) FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.drop_model(text) IS
    'drops a version of a model, m@3, or with the name alone the model and all its versions';

CREATE FUNCTION @extschema@.set_alias(model text, alias text)
    RETURNS void LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'pgboost_set_alias_wrapper';
REVOKE ALL ON FUNCTION @extschema@.set_alias(text, text) FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.set_alias(text, text) IS
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

CREATE FUNCTION @extschema@.rename_model(model text, new_name text)
    RETURNS void LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'pgboost_rename_model_wrapper';
COMMENT ON FUNCTION @extschema@.rename_model(text, text) IS 'renames a model';

CREATE FUNCTION @extschema@.set_model_owner(model text, role text)
    RETURNS void LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'pgboost_set_model_owner_wrapper';
COMMENT ON FUNCTION @extschema@.set_model_owner(text, text) IS
    'changes the owner of a model to a role that the current user is a member of';

CREATE FUNCTION @extschema@.grant_model(model text, role text)
    RETURNS void LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'pgboost_grant_model_wrapper';
COMMENT ON FUNCTION @extschema@.grant_model(text, text) IS
    'grants a role, or public, the privilege to predict with a model';

CREATE FUNCTION @extschema@.revoke_model(model text, role text)
    RETURNS void LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'pgboost_revoke_model_wrapper';
COMMENT ON FUNCTION @extschema@.revoke_model(text, text) IS
    'revokes a privilege that grant_model has granted';

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

-- What follows is called with the privileges of whoever reads the view.
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA pgboost_catalog FROM PUBLIC;

CREATE FUNCTION pgboost_catalog.statistics(model text, version integer)
    RETURNS TABLE (calls bigint, rows bigint, batches bigint, total_time double precision,
        missing_rows bigint, outside_rows bigint, last_used double precision)
    LANGUAGE c VOLATILE ROWS 1 PARALLEL SAFE
    AS 'MODULE_PATHNAME', 'pgboost_statistics_wrapper';
COMMENT ON FUNCTION pgboost_catalog.statistics(text, integer) IS
    'pgboost: returns the counters of a version; use the view pg_stat_pgboost';

CREATE FUNCTION @extschema@.pg_stat_pgboost_reset()
    RETURNS void LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'pgboost_statistics_reset_wrapper';
REVOKE ALL ON FUNCTION @extschema@.pg_stat_pgboost_reset() FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.pg_stat_pgboost_reset() IS 'sets the counters of pg_stat_pgboost to zero';

-- Members of pg_read_all_stats, such as pg_monitor, see all models here, as they see all of PostgreSQL's
-- statistics.
CREATE VIEW @extschema@.pg_stat_pgboost WITH (security_barrier) AS
    SELECT m.name, v.version, COALESCE(v.version OPERATOR(pg_catalog.=) m.deployed, false) AS deployed,
           s.calls, s.rows, s.batches, s.total_time, s.missing_rows, s.outside_rows,
           pg_catalog.to_timestamp(s.last_used) AS last_used
      FROM pgboost_catalog.model AS m
      JOIN pgboost_catalog.version AS v ON v.model OPERATOR(pg_catalog.=) m.name,
           LATERAL pgboost_catalog.statistics(m.name, v.version) AS s
     WHERE pg_catalog.pg_has_role('pg_read_all_stats', 'USAGE')
        OR EXISTS (SELECT FROM @extschema@.pgboost_models AS seen
                    WHERE seen.name OPERATOR(pg_catalog.=) m.name
                      AND seen.version OPERATOR(pg_catalog.=) v.version);
GRANT SELECT ON @extschema@.pg_stat_pgboost TO PUBLIC;
COMMENT ON VIEW @extschema@.pg_stat_pgboost IS
    'pgboost: the use of each version, counted while pgboost.track_predictions is on';
