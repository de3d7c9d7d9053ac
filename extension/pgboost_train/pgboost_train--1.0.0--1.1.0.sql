-- What ALTER EXTENSION pgboost_train UPDATE runs for a database of release 1.0.0, after that of pgboost.
\echo Use "ALTER EXTENSION pgboost_train UPDATE" to load this file. \quit

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

-- Grants on the function, as in the script of pgboost.
DO $$
DECLARE
    old_function CONSTANT pg_catalog.regprocedure := '@extschema@.train_model(text, text, text, jsonb, integer, text[], text, '
        'text, text, double precision, text, integer, integer, integer, text, boolean)';
    new_function CONSTANT pg_catalog.regprocedure := '@extschema@.train_model(text, text, text, jsonb, integer, text[], text, '
        'text, text, double precision, text, integer, integer, integer, text, boolean, boolean)';
    initial pg_catalog.pg_init_privs[];
    granted record;
BEGIN
    initial := ARRAY(SELECT p FROM pg_catalog.pg_init_privs AS p 
                      WHERE p.objoid OPERATOR(pg_catalog.=) new_function);
    FOR granted IN
        SELECT CASE WHEN a.grantee OPERATOR(pg_catalog.=) 0::pg_catalog.oid THEN 'PUBLIC'
                    ELSE a.grantee::pg_catalog.regrole::pg_catalog.text END AS grantee,
               CASE WHEN a.is_grantable THEN 'WITH GRANT OPTION' ELSE '' END AS option
          FROM pg_catalog.pg_proc AS p, pg_catalog.aclexplode(p.proacl) AS a
         WHERE p.oid OPERATOR(pg_catalog.=) old_function AND a.grantee OPERATOR(pg_catalog.<>) p.proowner
    LOOP
        EXECUTE pg_catalog.format('GRANT EXECUTE ON FUNCTION %s TO %s %s', new_function, granted.grantee,
                                  granted.option);
    END LOOP;
    DELETE FROM pg_catalog.pg_init_privs AS p WHERE p.objoid OPERATOR(pg_catalog.=) new_function;
    INSERT INTO pg_catalog.pg_init_privs SELECT (pg_catalog.unnest(initial)).*;
    DELETE FROM pg_catalog.pg_shdepend AS d
        WHERE d.deptype OPERATOR(pg_catalog.=) 'i' AND d.objid OPERATOR(pg_catalog.=) new_function
          AND d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_proc'::pg_catalog.regclass
          AND d.dbid OPERATOR(pg_catalog.=) (SELECT b.oid FROM pg_catalog.pg_database AS b
              WHERE b.datname OPERATOR(pg_catalog.=) pg_catalog.current_database());
END $$;

DROP FUNCTION @extschema@.train_model(text, text, text, jsonb, integer, text[], text,
    text, text, double precision, text, integer, integer, integer, text, boolean);
