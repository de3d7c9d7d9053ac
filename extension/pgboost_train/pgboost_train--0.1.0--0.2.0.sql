-- What ALTER EXTENSION pgboost_train UPDATE runs on 0.1.0: afterwards the extension is as pgboost_train--0.2.0.sql makes it.
\echo Use "ALTER EXTENSION pgboost_train UPDATE TO '0.2.0'" to load this file. \quit

-- Else operators and functions that somebody has made in the extension's schema could be those meant below.
SET LOCAL search_path = pg_catalog, pg_temp;

-- A function cannot be given a further argument, so a new one takes its place, and the rights to it.
ALTER FUNCTION @extschema@.train_model(text, text, text, jsonb, integer, text[], text, text, text, double precision,
    text, integer, integer, integer) RENAME TO train_model_before;

CREATE FUNCTION @extschema@.train_model(
        name text, source text, target text, params jsonb DEFAULT '{}', rounds integer DEFAULT NULL,
        features text[] DEFAULT NULL, weight text DEFAULT NULL, group_by text DEFAULT NULL,
        upper_bound text DEFAULT NULL, eval_fraction double precision DEFAULT NULL,
        eval_source text DEFAULT NULL, early_stopping_rounds integer DEFAULT NULL,
        seed integer DEFAULT NULL, notice_every integer DEFAULT NULL, continue_from text DEFAULT NULL)
    RETURNS TABLE (set text, metric text, best_round integer, value double precision)
    LANGUAGE c VOLATILE ROWS 4
    AS 'MODULE_PATHNAME', 'pgboost_train_model_wrapper';
REVOKE ALL ON FUNCTION @extschema@.train_model(text, text, text, jsonb, integer, text[], text, text, text,
    double precision, text, integer, integer, integer, text) FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.train_model(text, text, text, jsonb, integer, text[], text, text, text,
    double precision, text, integer, integer, integer, text) IS 'trains a model on a table, a view or a query and stores it as a new version';

-- What a script grants counts as the extension's own, which pg_dump leaves out. These are grants of the
-- database's users, so what is noted of the new function stays as CREATE EXTENSION notes it.
DO $$
DECLARE
    before CONSTANT regprocedure := '@extschema@.train_model_before(text, text, text, jsonb, integer, text[], text, text,
        text, double precision, text, integer, integer, integer)';
    function CONSTANT regprocedure := '@extschema@.train_model(text, text, text, jsonb, integer, text[], text, text, text,
        double precision, text, integer, integer, integer, text)';
    noted CONSTANT aclitem[] := (SELECT initprivs FROM pg_init_privs
                                  WHERE objoid = function AND classoid = 'pg_proc'::regclass);
    statement text;
BEGIN
    FOR statement IN
        SELECT format('GRANT EXECUTE ON FUNCTION %s TO %s %s', function,
                      CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END,
                      CASE WHEN is_grantable THEN 'WITH GRANT OPTION' END)
          FROM pg_proc, aclexplode(proacl)
         WHERE oid = before AND grantee <> proowner
    LOOP
        EXECUTE statement;
    END LOOP;
    IF FOUND THEN
        UPDATE pg_init_privs SET initprivs = noted WHERE objoid = function AND classoid = 'pg_proc'::regclass;
        -- Since PostgreSQL 17 a role cannot be dropped while it is noted there.
        DELETE FROM pg_shdepend WHERE objid = function AND classid = 'pg_proc'::regclass AND deptype = 'i'
            AND dbid = (SELECT oid FROM pg_database WHERE datname = current_database());
    END IF;
    EXECUTE format('DROP FUNCTION %s', before);
END $$;

CREATE FUNCTION @extschema@.cross_validate_model(
        source text, target text, params jsonb DEFAULT '{}', rounds integer DEFAULT NULL,
        features text[] DEFAULT NULL, weight text DEFAULT NULL, group_by text DEFAULT NULL,
        upper_bound text DEFAULT NULL, folds integer DEFAULT NULL, fold_by text DEFAULT NULL,
        stratified boolean DEFAULT NULL, early_stopping_rounds integer DEFAULT NULL,
        seed integer DEFAULT NULL, notice_every integer DEFAULT NULL)
    RETURNS TABLE (round integer, metric text, train_mean double precision, train_std double precision,
                   eval_mean double precision, eval_std double precision,
                   train double precision[], eval double precision[])
    LANGUAGE c VOLATILE ROWS 100
    AS 'MODULE_PATHNAME', 'pgboost_cross_validate_model_wrapper';
REVOKE ALL ON FUNCTION @extschema@.cross_validate_model(text, text, jsonb, integer, text[], text, text, text, integer,
    text, boolean, integer, integer, integer) FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.cross_validate_model(text, text, jsonb, integer, text[], text, text, text, integer,
    text, boolean, integer, integer, integer) IS 'the metrics of each round on folds of the rows that were not trained on';

CREATE FUNCTION @extschema@.tune_model(
        source text, target text, search jsonb, params jsonb DEFAULT '{}', trials integer DEFAULT NULL,
        rounds integer DEFAULT NULL, features text[] DEFAULT NULL, weight text DEFAULT NULL,
        group_by text DEFAULT NULL, upper_bound text DEFAULT NULL, eval_fraction double precision DEFAULT NULL,
        eval_source text DEFAULT NULL, folds integer DEFAULT NULL, fold_by text DEFAULT NULL,
        stratified boolean DEFAULT NULL, early_stopping_rounds integer DEFAULT NULL, seed integer DEFAULT NULL)
    RETURNS TABLE (trial integer, best boolean, metric text, best_round integer, train double precision,
                   eval double precision, eval_std double precision, params jsonb)
    LANGUAGE c VOLATILE ROWS 20
    AS 'MODULE_PATHNAME', 'pgboost_tune_model_wrapper';
REVOKE ALL ON FUNCTION @extschema@.tune_model(text, text, jsonb, jsonb, integer, integer, text[], text, text, text,
    double precision, text, integer, text, boolean, integer, integer) FROM PUBLIC;
COMMENT ON FUNCTION @extschema@.tune_model(text, text, jsonb, jsonb, integer, integer, text[], text, text, text,
    double precision, text, integer, text, boolean, integer, integer) IS 'tries combinations of training parameters and marks the best';
