-- The functions of the extension. docs/sql-reference.md describes them.

CREATE FUNCTION @extschema@.pgboost_predict_support(internal) RETURNS internal
    LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'pgboost_predict_support';
REVOKE ALL ON FUNCTION @extschema@.pgboost_predict_support(internal) FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.pgboost_predict_support(internal) IS 'pgboost: tells the planner what a prediction costs';

CREATE FUNCTION @extschema@.predict(model text, VARIADIC features "any") RETURNS real
    LANGUAGE c STABLE PARALLEL SAFE COST 20 SUPPORT @extschema@.pgboost_predict_support
    AS 'MODULE_PATHNAME', 'pgboost_predict';
COMMENT ON FUNCTION @extschema@.predict(text, "any") IS 'the prediction of a model that gives one value a row';

CREATE FUNCTION @extschema@.predict_array(model text, VARIADIC features "any") RETURNS real[]
    LANGUAGE c STABLE PARALLEL SAFE COST 20 SUPPORT @extschema@.pgboost_predict_support
    AS 'MODULE_PATHNAME', 'pgboost_predict_array';
COMMENT ON FUNCTION @extschema@.predict_array(text, "any") IS 'all values that a model predicts: probabilities, targets or quantiles';

CREATE FUNCTION @extschema@.predict_class(model text, VARIADIC features "any") RETURNS text
    LANGUAGE c STABLE PARALLEL SAFE COST 20 SUPPORT @extschema@.pgboost_predict_support
    AS 'MODULE_PATHNAME', 'pgboost_predict_class';
COMMENT ON FUNCTION @extschema@.predict_class(text, "any") IS 'the label of the class that a model predicts';

CREATE FUNCTION @extschema@.predict_margin(model text, VARIADIC features "any") RETURNS real[]
    LANGUAGE c STABLE PARALLEL SAFE COST 20 SUPPORT @extschema@.pgboost_predict_support
    AS 'MODULE_PATHNAME', 'pgboost_predict_margin';
COMMENT ON FUNCTION @extschema@.predict_margin(text, "any") IS 'the margins of a row: the sums of leaves, before the transform of the objective';

CREATE FUNCTION @extschema@.predict_from(model text, base_margin double precision, VARIADIC features "any") RETURNS real
    LANGUAGE c STABLE PARALLEL SAFE COST 20 SUPPORT @extschema@.pgboost_predict_support
    AS 'MODULE_PATHNAME', 'pgboost_predict_from';
COMMENT ON FUNCTION @extschema@.predict_from(text, double precision, "any") IS 'as predict, with a sum of leaves that begins with the base margin in place of the model''s';

CREATE FUNCTION @extschema@.predict_array_from(model text, base_margin double precision[], VARIADIC features "any") RETURNS real[]
    LANGUAGE c STABLE PARALLEL SAFE COST 20 SUPPORT @extschema@.pgboost_predict_support
    AS 'MODULE_PATHNAME', 'pgboost_predict_array_from';
COMMENT ON FUNCTION @extschema@.predict_array_from(text, double precision[], "any") IS 'as predict_array, with sums of leaves that begin with the base margins in place of the model''s';

CREATE FUNCTION @extschema@.predict_margin_from(model text, base_margin double precision[], VARIADIC features "any") RETURNS real[]
    LANGUAGE c STABLE PARALLEL SAFE COST 20 SUPPORT @extschema@.pgboost_predict_support
    AS 'MODULE_PATHNAME', 'pgboost_predict_margin_from';
COMMENT ON FUNCTION @extschema@.predict_margin_from(text, double precision[], "any") IS 'as predict_margin, with sums of leaves that begin with the base margins in place of the model''s';

CREATE FUNCTION @extschema@.predict_leaf(model text, VARIADIC features "any") RETURNS integer[]
    LANGUAGE c STABLE PARALLEL SAFE COST 20 SUPPORT @extschema@.pgboost_predict_support
    AS 'MODULE_PATHNAME', 'pgboost_predict_leaf';
COMMENT ON FUNCTION @extschema@.predict_leaf(text, "any") IS 'the id of the leaf that a row falls into, for each tree';

CREATE FUNCTION @extschema@.load_model(name text, model bytea, labels text[] DEFAULT NULL, feature_names text[] DEFAULT NULL,
                                       parameters jsonb DEFAULT NULL, metrics jsonb DEFAULT NULL,
                                       rounds integer DEFAULT NULL, best_iteration boolean DEFAULT false, categories jsonb DEFAULT NULL)
    RETURNS integer LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'pgboost_load_model_wrapper';
REVOKE ALL ON FUNCTION @extschema@.load_model(text, bytea, text[], text[], jsonb, jsonb, integer, boolean, jsonb) FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.load_model(text, bytea, text[], text[], jsonb, jsonb, integer, boolean, jsonb) IS 'stores a model file as a new version, deploys it, and gives its number';

CREATE FUNCTION @extschema@.deploy_model(name text, version integer)
    RETURNS void LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'pgboost_deploy_model_wrapper';
REVOKE ALL ON FUNCTION @extschema@.deploy_model(text, integer) FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.deploy_model(text, integer) IS 'makes a version of a model the one in use';

CREATE FUNCTION @extschema@.drop_model(name text, version integer DEFAULT NULL)
    RETURNS void LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'pgboost_drop_model_wrapper';
REVOKE ALL ON FUNCTION @extschema@.drop_model(text, integer) FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.drop_model(text, integer) IS 'removes a version of a model, or the model with all its versions';

CREATE FUNCTION @extschema@.export_model(name text, version integer DEFAULT NULL)
    RETURNS bytea LANGUAGE c STABLE
    AS 'MODULE_PATHNAME', 'pgboost_export_model_wrapper';
COMMENT ON FUNCTION @extschema@.export_model(text, integer) IS 'the bytes of a model file as they were loaded';

CREATE FUNCTION @extschema@.grant_model(name text, role text)
    RETURNS void LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'pgboost_grant_model_wrapper';
COMMENT ON FUNCTION @extschema@.grant_model(text, text) IS 'lets a role, or public, predict with a model';

CREATE FUNCTION @extschema@.revoke_model(name text, role text)
    RETURNS void LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'pgboost_revoke_model_wrapper';
COMMENT ON FUNCTION @extschema@.revoke_model(text, text) IS 'takes back what grant_model gave';

CREATE FUNCTION @extschema@.model_info(model text)
    RETURNS jsonb LANGUAGE c STABLE
    AS 'MODULE_PATHNAME', 'pgboost_model_info_wrapper';
COMMENT ON FUNCTION @extschema@.model_info(text) IS 'what is known of a model';

CREATE FUNCTION @extschema@.model_features(model text)
    RETURNS TABLE ("position" integer, feature text, type text, categories text[])
    LANGUAGE c STABLE ROWS 20
    AS 'MODULE_PATHNAME', 'pgboost_model_features_wrapper';
COMMENT ON FUNCTION @extschema@.model_features(text) IS 'the features of a model, in its order';

CREATE FUNCTION @extschema@.feature_importance(model text, kind text DEFAULT 'gain')
    RETURNS TABLE (feature text, importance real)
    LANGUAGE c STABLE ROWS 20
    AS 'MODULE_PATHNAME', 'pgboost_feature_importance_wrapper';
COMMENT ON FUNCTION @extschema@.feature_importance(text, text) IS 'how important each feature is: by weight, gain, cover, total_gain or total_cover';
