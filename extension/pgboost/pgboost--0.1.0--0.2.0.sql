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

-- What the features of a version were where it was trained: of numbers points of their distribution, each with the
-- shares of the numbers below it and up to it; of categories the share of each.
CREATE TABLE @extschema@.pgboost_profile (
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
    PRIMARY KEY (model, version, position)
);

COMMENT ON TABLE @extschema@.pgboost_profile IS 'pgboost: one row per feature of a version whose features were profiled';

SELECT pg_catalog.pg_extension_config_dump('@extschema@.pgboost_profile', '');

CREATE FUNCTION @extschema@.evaluate_model(model text, source text, target text, weight text DEFAULT NULL, by text DEFAULT NULL,
                                           group_by text DEFAULT NULL, quantile_alpha double precision[] DEFAULT NULL)
    RETURNS TABLE (by_value text, metric text, value double precision, rows bigint)
    LANGUAGE c VOLATILE ROWS 10
    AS 'MODULE_PATHNAME', 'pgboost_evaluate_model_wrapper';
COMMENT ON FUNCTION @extschema@.evaluate_model(text, text, text, text, text, text, double precision[]) IS 'the metrics of a model on the rows of a table, a view or a query';

CREATE FUNCTION @extschema@.confusion_matrix(model text, source text, target text, weight text DEFAULT NULL, by text DEFAULT NULL)
    RETURNS TABLE (by_value text, actual text, predicted text, rows bigint, total_weight double precision)
    LANGUAGE c VOLATILE ROWS 10
    AS 'MODULE_PATHNAME', 'pgboost_confusion_matrix_wrapper';
COMMENT ON FUNCTION @extschema@.confusion_matrix(text, text, text, text, text) IS 'how many rows of each class a model gives which class';

CREATE FUNCTION @extschema@.calibration_curve(model text, source text, target text, weight text DEFAULT NULL, by text DEFAULT NULL,
                                              bins integer DEFAULT 10)
    RETURNS TABLE (by_value text, bin integer, rows bigint, predicted double precision, actual double precision)
    LANGUAGE c VOLATILE ROWS 10
    AS 'MODULE_PATHNAME', 'pgboost_calibration_curve_wrapper';
COMMENT ON FUNCTION @extschema@.calibration_curve(text, text, text, text, text, integer) IS 'what a model predicts and what there is, on average in bins of equal numbers of rows';

CREATE FUNCTION @extschema@.compare_models(a text, b text, source text, target text, weight text DEFAULT NULL,
                                           quantile_alpha double precision[] DEFAULT NULL)
    RETURNS TABLE (metric text, value_a double precision, value_b double precision, difference double precision,
                   lower double precision, upper double precision, better bigint, worse bigint)
    LANGUAGE c VOLATILE ROWS 3
    AS 'MODULE_PATHNAME', 'pgboost_compare_models_wrapper';
COMMENT ON FUNCTION @extschema@.compare_models(text, text, text, text, text, double precision[]) IS 'the losses of two models on the same rows, and their difference with its confidence interval';

CREATE FUNCTION @extschema@.profile_features(model text, source text)
    RETURNS void LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'pgboost_profile_features_wrapper';
COMMENT ON FUNCTION @extschema@.profile_features(text, text) IS 'keeps with a version what its features are in the rows of a table, a view or a query';

CREATE FUNCTION @extschema@.load_profile(model text, profile jsonb)
    RETURNS void LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'pgboost_load_profile_wrapper';
COMMENT ON FUNCTION @extschema@.load_profile(text, jsonb) IS 'keeps with a version what its features were where it was trained';

CREATE FUNCTION @extschema@.feature_profile(model text)
    RETURNS TABLE (feature text, rows bigint, missing bigint, quantiles double precision[], categories text[], shares double precision[])
    LANGUAGE c STABLE ROWS 20
    AS 'MODULE_PATHNAME', 'pgboost_feature_profile_wrapper';
COMMENT ON FUNCTION @extschema@.feature_profile(text) IS 'what the features of a version were where it was trained';

CREATE FUNCTION @extschema@.feature_drift(model text, source text)
    RETURNS TABLE (feature text, psi double precision, ks double precision, p_value double precision,
                   missing_before double precision, missing_now double precision)
    LANGUAGE c VOLATILE ROWS 20
    AS 'MODULE_PATHNAME', 'pgboost_feature_drift_wrapper';
COMMENT ON FUNCTION @extschema@.feature_drift(text, text) IS 'how far the features of a model are from their profile in the rows of a table, a view or a query';
