-- What CREATE EXTENSION pgboost_train runs; installed as pgboost_train--VERSION.sql.
\echo Use "CREATE EXTENSION pgboost_train" to load this file. \quit

-- The functions of the extension. docs/training.md describes them.

CREATE FUNCTION @extschema@.xgboost_version()
    RETURNS text LANGUAGE c STABLE PARALLEL SAFE
    AS 'MODULE_PATHNAME', 'pgboost_xgboost_version_wrapper';
COMMENT ON FUNCTION @extschema@.xgboost_version() IS 'returns the release of XGBoost that trains models';

-- Ends CREATE EXTENSION with an error that says what to do where the library is missing.
SELECT @extschema@.xgboost_version();

CREATE FUNCTION @extschema@.train_model(
        model text, source text, target text, params jsonb DEFAULT '{}', rounds integer DEFAULT NULL,
        features text[] DEFAULT NULL, weight text DEFAULT NULL, qid text DEFAULT NULL,
        label_upper_bound text DEFAULT NULL, eval_fraction double precision DEFAULT NULL,
        eval_source text DEFAULT NULL, early_stopping_rounds integer DEFAULT NULL,
        seed integer DEFAULT NULL, verbose_eval integer DEFAULT NULL, continue_from text DEFAULT NULL,
        deploy boolean DEFAULT true, allow_change boolean DEFAULT false)
    RETURNS TABLE (set text, metric text, best_round integer, value double precision)
    LANGUAGE c VOLATILE ROWS 4
    AS 'MODULE_PATHNAME', 'pgboost_train_model_1_1_wrapper';
REVOKE ALL ON FUNCTION @extschema@.train_model(text, text, text, jsonb, integer, text[], text, text, text,
    double precision, text, integer, integer, integer, text, boolean, boolean) FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.train_model(text, text, text, jsonb, integer, text[], text, text, text,
    double precision, text, integer, integer, integer, text, boolean, boolean) IS
    'trains a model on a table, a view or a query and stores it as a new version';

CREATE FUNCTION @extschema@.cross_validate_model(
        source text, target text, params jsonb DEFAULT '{}', rounds integer DEFAULT NULL,
        features text[] DEFAULT NULL, weight text DEFAULT NULL, qid text DEFAULT NULL,
        label_upper_bound text DEFAULT NULL, folds integer DEFAULT NULL, fold_by text DEFAULT NULL,
        stratified boolean DEFAULT NULL, early_stopping_rounds integer DEFAULT NULL,
        seed integer DEFAULT NULL, verbose_eval integer DEFAULT NULL)
    RETURNS TABLE (round integer, metric text, train_mean double precision, train_std double precision,
        eval_mean double precision, eval_std double precision, train double precision[],
        eval double precision[])
    LANGUAGE c VOLATILE ROWS 100
    AS 'MODULE_PATHNAME', 'pgboost_cross_validate_model_wrapper';
REVOKE ALL ON FUNCTION @extschema@.cross_validate_model(text, text, jsonb, integer, text[], text, text, text,
    integer, text, boolean, integer, integer, integer) FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.cross_validate_model(text, text, jsonb, integer, text[], text, text, text,
    integer, text, boolean, integer, integer, integer) IS
    'the metrics of each round on folds of the rows that were not trained on';

CREATE FUNCTION @extschema@.tune_model(
        source text, target text, search jsonb, params jsonb DEFAULT '{}', trials integer DEFAULT NULL,
        rounds integer DEFAULT NULL, features text[] DEFAULT NULL, weight text DEFAULT NULL,
        qid text DEFAULT NULL, label_upper_bound text DEFAULT NULL,
        eval_fraction double precision DEFAULT NULL,
        eval_source text DEFAULT NULL, folds integer DEFAULT NULL, fold_by text DEFAULT NULL,
        stratified boolean DEFAULT NULL, early_stopping_rounds integer DEFAULT NULL,
        seed integer DEFAULT NULL)
    RETURNS TABLE (trial integer, best boolean, metric text, best_round integer, train double precision,
        eval double precision, eval_std double precision, params jsonb)
    LANGUAGE c VOLATILE ROWS 20
    AS 'MODULE_PATHNAME', 'pgboost_tune_model_wrapper';
REVOKE ALL ON FUNCTION @extschema@.tune_model(text, text, jsonb, jsonb, integer, integer, text[], text, text,
    text, double precision, text, integer, text, boolean, integer, integer) FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.tune_model(text, text, jsonb, jsonb, integer, integer, text[], text, text,
    text, double precision, text, integer, text, boolean, integer, integer) IS
    'tries combinations of training parameters and marks the best';

CREATE FUNCTION @extschema@.xgboost_predict(model text, features real[])
    RETURNS real LANGUAGE c STABLE PARALLEL SAFE COST 100000
    AS 'MODULE_PATHNAME', 'pgboost_xgboost_predict_wrapper';
COMMENT ON FUNCTION @extschema@.xgboost_predict(text, real[]) IS
    'predicts the value of a row with libxgboost itself';

CREATE FUNCTION @extschema@.verify_model(model text, source text)
    RETURNS TABLE (rows bigint, differing bigint, max_ulp bigint)
    LANGUAGE c VOLATILE ROWS 1
    AS 'MODULE_PATHNAME', 'pgboost_verify_model_wrapper';
COMMENT ON FUNCTION @extschema@.verify_model(text, text) IS
    'compares the margins of pgboost and of libxgboost over all rows of a source';

CREATE FUNCTION pgboost_catalog.progress_records()
    RETURNS TABLE (pid integer, backend_start timestamp with time zone, model text, phase text,
        rows_read bigint, round integer, rounds integer, metric text)
    LANGUAGE c VOLATILE ROWS 4
    AS 'MODULE_PATHNAME', 'pgboost_progress_records_wrapper';
COMMENT ON FUNCTION pgboost_catalog.progress_records() IS
    'pgboost: returns the progress that backends have written';

-- A record counts as long as the backend that wrote it is there, which its start tells from a later one of
-- the same pid. The function shows each user what pg_stat_activity would.
CREATE VIEW @extschema@.pg_stat_progress_train_model WITH (security_barrier) AS
    SELECT p.pid, a.datid, a.datname, a.usename, p.model, p.phase, p.rows_read, p.round, p.rounds, p.metric
      FROM pgboost_catalog.progress_records() AS p
      JOIN pg_catalog.pg_stat_activity AS a
        ON a.pid OPERATOR(pg_catalog.=) p.pid AND a.backend_start OPERATOR(pg_catalog.=) p.backend_start;
GRANT SELECT ON @extschema@.pg_stat_progress_train_model TO PUBLIC;
COMMENT ON VIEW @extschema@.pg_stat_progress_train_model IS 'the progress of the trainings that are running';
