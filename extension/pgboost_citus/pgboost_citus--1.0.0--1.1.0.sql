-- What ALTER EXTENSION pgboost_citus UPDATE runs for a database of release 1.0.0.
\echo Use "ALTER EXTENSION pgboost_citus UPDATE" to load this file. \quit

-- Else functions that somebody has made in the extension's schema could be those meant below.
SET LOCAL search_path = pg_catalog, pg_temp;

CREATE OR REPLACE FUNCTION @extschema@.pgboost_registry_row_changed() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    SET "DateStyle" = 'ISO, YMD' SET "TimeZone" = 'UTC' SET bytea_output = 'hex' SET extra_float_digits = 1
AS $$
DECLARE
    same_key boolean := true;
BEGIN
    IF TG_OP = 'UPDATE' THEN
        -- A lock of the row.
        IF OLD IS NOT DISTINCT FROM NEW THEN
            RETURN NULL;
        END IF;
        EXECUTE format('SELECT %s FROM (SELECT ($1).*) AS k, (SELECT ($2).*) AS r',
                       @extschema@.pgboost_columns(TG_RELID, true, 'k.%1$I = r.%1$I', ' AND '))
            INTO same_key USING OLD, NEW;
    END IF;
    IF TG_OP = 'DELETE' OR NOT same_key THEN
        PERFORM @extschema@.pgboost_tell_nodes(TG_RELID, 'remove', OLD::text);
    END IF;
    IF TG_OP <> 'DELETE' THEN
        PERFORM @extschema@.pgboost_tell_nodes(TG_RELID, 'put', NEW::text);
    END IF;
    RETURN NULL;
END $$;
