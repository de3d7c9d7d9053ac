-- What ALTER EXTENSION pgboost UPDATE runs on 0.1.0: afterwards the extension is as pgboost--0.2.0.sql makes it.
\echo Use "ALTER EXTENSION pgboost UPDATE TO '0.2.0'" to load this file. \quit

CREATE FUNCTION @extschema@.pgboost_explain_support(internal) RETURNS internal
    LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'pgboost_explain_support';
REVOKE ALL ON FUNCTION @extschema@.pgboost_explain_support(internal) FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.pgboost_explain_support(internal) IS 'pgboost: tells the planner what an explanation costs';

CREATE FUNCTION @extschema@.predict_contribs(model text, VARIADIC features "any") RETURNS real[]
    LANGUAGE c STABLE PARALLEL SAFE COST 1000 SUPPORT @extschema@.pgboost_explain_support
    AS 'MODULE_PATHNAME', 'pgboost_predict_contribs';
COMMENT ON FUNCTION @extschema@.predict_contribs(text, "any") IS 'what each feature contributed to the margins of a row, and the bias: SHAP values';

CREATE FUNCTION @extschema@.predict_contribs_approx(model text, VARIADIC features "any") RETURNS real[]
    LANGUAGE c STABLE PARALLEL SAFE COST 100 SUPPORT @extschema@.pgboost_explain_support
    AS 'MODULE_PATHNAME', 'pgboost_predict_contribs_approx';
COMMENT ON FUNCTION @extschema@.predict_contribs_approx(text, "any") IS 'as predict_contribs, by the simpler method of Saabas';

CREATE FUNCTION @extschema@.predict_interactions(model text, VARIADIC features "any") RETURNS real[]
    LANGUAGE c STABLE PARALLEL SAFE COST 10000 SUPPORT @extschema@.pgboost_explain_support
    AS 'MODULE_PATHNAME', 'pgboost_predict_interactions';
COMMENT ON FUNCTION @extschema@.predict_interactions(text, "any") IS 'what each pair of features contributed to the margins of a row: SHAP interaction values';

CREATE FUNCTION @extschema@.explain_prediction(model text, features "any", top integer DEFAULT 10, output text DEFAULT NULL)
    RETURNS TABLE (feature text, value text, contribution real)
    LANGUAGE c STABLE PARALLEL SAFE COST 1000 ROWS 12 SUPPORT @extschema@.pgboost_explain_support
    AS 'MODULE_PATHNAME', 'pgboost_explain_prediction_wrapper';
COMMENT ON FUNCTION @extschema@.explain_prediction(text, "any", integer, text) IS 'what contributed to the prediction of a row, the largest contributions first';

CREATE FUNCTION @extschema@.explain_prediction_columns(model text, top integer, output text, VARIADIC features "any")
    RETURNS TABLE (feature text, value text, contribution real)
    LANGUAGE c STABLE PARALLEL SAFE COST 1000 ROWS 12 SUPPORT @extschema@.pgboost_explain_support
    AS 'MODULE_PATHNAME', 'pgboost_explain_prediction_columns_wrapper';
COMMENT ON FUNCTION @extschema@.explain_prediction_columns(text, integer, text, "any") IS 'as explain_prediction, with the features as arguments of their own';

CREATE FUNCTION @extschema@.pgboost_contribs_add(double precision[], real[]) RETURNS double precision[]
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
    AS 'MODULE_PATHNAME', 'pgboost_contribs_add';
CREATE FUNCTION @extschema@.pgboost_contribs_combine(double precision[], double precision[]) RETURNS double precision[]
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
    AS 'MODULE_PATHNAME', 'pgboost_contribs_combine';
CREATE FUNCTION @extschema@.pgboost_contribs_mean(double precision[]) RETURNS real[]
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
    AS 'MODULE_PATHNAME', 'pgboost_contribs_mean';
CREATE AGGREGATE @extschema@.mean_abs_contribs(contributions real[]) (
    SFUNC = @extschema@.pgboost_contribs_add, STYPE = double precision[], INITCOND = '{}',
    COMBINEFUNC = @extschema@.pgboost_contribs_combine, FINALFUNC = @extschema@.pgboost_contribs_mean, PARALLEL = SAFE);
REVOKE ALL ON FUNCTION @extschema@.pgboost_contribs_add(double precision[], real[]), @extschema@.pgboost_contribs_combine(double precision[], double precision[]),
    @extschema@.pgboost_contribs_mean(double precision[]) FROM PUBLIC;
COMMENT ON AGGREGATE @extschema@.mean_abs_contribs(real[]) IS 'the mean absolute contribution of each feature: what counts for a model over many rows';

CREATE FUNCTION @extschema@.feature_contributions(model text, contributions real[])
    RETURNS TABLE (feature text, contribution real, output text)
    LANGUAGE c STABLE PARALLEL SAFE ROWS 20
    AS 'MODULE_PATHNAME', 'pgboost_feature_contributions_wrapper';
COMMENT ON FUNCTION @extschema@.feature_contributions(text, real[]) IS 'contributions with the names of the features, the largest first';
