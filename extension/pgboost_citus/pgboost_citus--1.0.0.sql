-- The models of pgboost on every node of a Citus cluster.
--
-- Each node predicts with its own registry, so the registries must be equal. A trigger on each table of the
-- registry writes what changed into pgboost_change, a reference table, which Citus writes on all nodes in one
-- two-phase commit. A trigger on the placements of that table makes the same change in the registry of their
-- nodes. So load_model, train_model, deploy_model, grant_model and all that follow change the registry of all
-- nodes or of none.
--
-- A row of pgboost_change is deleted by the transaction that wrote it: it carries a change, and is no second
-- copy of a model. The tables of the registry are those whose contents pg_dump takes.
\echo Use "CREATE EXTENSION pgboost_citus CASCADE" to load this file. \quit

-- Else functions that somebody has made in the extension's schema could be those meant below.
SET LOCAL search_path = pg_catalog, pg_temp;

CREATE FUNCTION @extschema@.pgboost_registry_tables() RETURNS SETOF regclass
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
    AS $$ SELECT unnest(extconfig)::regclass FROM pg_extension WHERE extname = 'pgboost' $$;
COMMENT ON FUNCTION @extschema@.pgboost_registry_tables() IS
    'pgboost_citus: the tables that all nodes have alike';

-- A pattern filled in for each column of a table, or of its primary key: '%1$I' is the column's name.
CREATE FUNCTION @extschema@.pgboost_columns(registry_table regclass, of_key boolean, pattern text,
    separator text)
    RETURNS text LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
    AS $$ SELECT string_agg(format(pattern, a.attname), separator ORDER BY a.attnum)
            FROM pg_attribute AS a
            LEFT JOIN pg_index AS i ON i.indrelid = a.attrelid AND i.indisprimary
           WHERE a.attrelid = registry_table AND a.attnum > 0 AND NOT a.attisdropped
             AND (NOT of_key OR a.attnum = ANY (i.indkey)) $$;
COMMENT ON FUNCTION @extschema@.pgboost_columns(regclass, boolean, text, text) IS
    'pgboost_citus: a part of a statement, for each column of a table or of its key';

-- A table of that name that another role has made is not it: its triggers would run with the owner's
-- privileges.
CREATE FUNCTION @extschema@.pgboost_nodes_share() RETURNS boolean
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
    AS $$ SELECT EXISTS (SELECT FROM pg_class AS c JOIN pg_roles AS r ON r.oid = c.relowner
                          WHERE c.oid = to_regclass('@extschema@.pgboost_change')
                            AND (r.rolsuper OR r.oid = (SELECT extowner FROM pg_extension
                                                         WHERE extname = 'pgboost_citus'))) $$;
COMMENT ON FUNCTION @extschema@.pgboost_nodes_share() IS
    'pgboost_citus: whether pgboost_sync_nodes has made the table that carries changes';

-- operation: 'put' a row and 'remove' a row, with the row's text; 'keep' no rows but those with the keys of a
-- jsonb array.
CREATE FUNCTION @extschema@.pgboost_tell_nodes(registry_table regclass, operation text, content text)
    RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF NOT @extschema@.pgboost_nodes_share() THEN
        RAISE EXCEPTION 'the nodes of this cluster do not share their models yet'
            USING ERRCODE = 'object_not_in_prerequisite_state',
                  HINT = 'Run SELECT pgboost_sync_nodes() on the coordinator.';
    END IF;
    -- Else a later statement of this transaction could use a connection that does not see the change.
    PERFORM set_config('citus.multi_shard_modify_mode', 'sequential', true);
    INSERT INTO @extschema@.pgboost_change
        SELECT gen_random_uuid(), relname, operation, content FROM pg_class WHERE oid = registry_table;
    DELETE FROM @extschema@.pgboost_change;
END $$;
COMMENT ON FUNCTION @extschema@.pgboost_tell_nodes(regclass, text, text) IS
    'pgboost_citus: makes a change in the registry of all nodes';

-- The settings are those on which the text of a row depends; it must mean the same on the other nodes.
CREATE FUNCTION @extschema@.pgboost_registry_row_changed() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    SET "DateStyle" = 'ISO, YMD' SET "TimeZone" = 'UTC' SET bytea_output = 'hex' SET extra_float_digits = 1
AS $$
DECLARE
    same_key boolean := true;
BEGIN
    IF TG_OP = 'UPDATE' THEN
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
COMMENT ON FUNCTION @extschema@.pgboost_registry_row_changed() IS
    'pgboost_citus: makes the change of a row of the registry on all nodes';

CREATE FUNCTION @extschema@.pgboost_registry_truncated() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM @extschema@.pgboost_tell_nodes(TG_RELID, 'keep', '[]');
    RETURN NULL;
END $$;
COMMENT ON FUNCTION @extschema@.pgboost_registry_truncated() IS
    'pgboost_citus: empties a table of the registry on all nodes';

-- Fires on the placements. As a replica the session does not fire the triggers above again, but still those
-- that tell the node's backends. The node on which the change began has it already.
CREATE FUNCTION @extschema@.pgboost_make_change() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    SET "DateStyle" = 'ISO, YMD' SET "TimeZone" = 'UTC' SET bytea_output = 'hex' SET extra_float_digits = 1
    SET session_replication_role = replica
AS $$
DECLARE
    registry_table regclass;
    same_key text;
    present boolean;
BEGIN
    SELECT t INTO STRICT registry_table FROM @extschema@.pgboost_registry_tables() AS t
        JOIN pg_class AS c ON c.oid = t WHERE c.relname = NEW.registry_table;
    same_key := @extschema@.pgboost_columns(registry_table, true, 'k.%1$I = r.%1$I', ' AND ');
    IF NEW.operation = 'put' THEN
        EXECUTE format('SELECT EXISTS (SELECT FROM %1$s AS r, (SELECT ($1::%1$s).*) AS k '
                       'WHERE %2$s AND r::text = $1)',
                       registry_table, same_key) INTO present USING NEW.content;
        IF NOT present THEN
            EXECUTE format('INSERT INTO %s SELECT ($1::%1$s).* ON CONFLICT (%s) DO UPDATE SET %s',
                           registry_table,
                           @extschema@.pgboost_columns(registry_table, true, '%I', ', '),
                           @extschema@.pgboost_columns(registry_table, false, '%1$I = EXCLUDED.%1$I', ', '))
                USING NEW.content;
        END IF;
    ELSIF NEW.operation = 'remove' THEN
        EXECUTE format('DELETE FROM %1$s AS r USING (SELECT ($1::%1$s).*) AS k WHERE %2$s',
                       registry_table, same_key)
            USING NEW.content;
    ELSE
        EXECUTE format('DELETE FROM %1$s AS r WHERE NOT EXISTS '
                       '(SELECT FROM jsonb_populate_recordset(NULL::%1$s, $1::jsonb) AS k WHERE %2$s)',
                       registry_table, same_key) USING NEW.content;
    END IF;
    RETURN NULL;
END $$;
COMMENT ON FUNCTION @extschema@.pgboost_make_change() IS
    'pgboost_citus: makes a change of another node in the registry of this one';

CREATE FUNCTION @extschema@.pgboost_sync_nodes() RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
    SET "DateStyle" = 'ISO, YMD' SET "TimeZone" = 'UTC' SET bytea_output = 'hex' SET extra_float_digits = 1
AS $$
DECLARE
    registry_table regclass;
    content text;
BEGIN
    IF NOT citus_is_coordinator() THEN
        RAISE EXCEPTION 'pgboost_sync_nodes must run on the coordinator'
            USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    IF NOT EXISTS (SELECT FROM pg_dist_node WHERE groupid = 0) THEN
        RAISE EXCEPTION 'the coordinator is not among the nodes of its cluster'
            USING ERRCODE = 'object_not_in_prerequisite_state',
                  DETAIL = 'Models that a worker loads could not reach it.',
                  HINT = 'Run SELECT citus_set_coordinator_host(...) with the name that the workers know.';
    END IF;
    IF NOT @extschema@.pgboost_nodes_share() THEN
        CREATE TABLE @extschema@.pgboost_change (
            id uuid PRIMARY KEY,
            registry_table text NOT NULL,
            operation text NOT NULL CHECK (operation IN ('put', 'remove', 'keep')),
            content text NOT NULL
        );
        COMMENT ON TABLE @extschema@.pgboost_change IS
            'pgboost_citus: carries changes of the registry to all nodes';
        PERFORM create_reference_table('@extschema@.pgboost_change');
        SET LOCAL citus.enable_unsafe_triggers = on;
        CREATE TRIGGER make_change AFTER INSERT ON @extschema@.pgboost_change
            FOR EACH ROW EXECUTE FUNCTION @extschema@.pgboost_make_change();
    END IF;
    PERFORM replicate_reference_tables('block_writes');
    FOR registry_table IN SELECT @extschema@.pgboost_registry_tables() LOOP
        -- Nobody changes the registry between its rows.
        EXECUTE format('LOCK TABLE %s IN SHARE ROW EXCLUSIVE MODE', registry_table);
    END LOOP;
    FOR registry_table IN SELECT @extschema@.pgboost_registry_tables() LOOP
        EXECUTE format('SELECT coalesce(jsonb_agg(k), ''[]'') FROM (SELECT %s FROM %s AS r) AS k',
                       @extschema@.pgboost_columns(registry_table, true, 'r.%I', ', '), registry_table)
            INTO content;
        PERFORM @extschema@.pgboost_tell_nodes(registry_table, 'keep', content);
        FOR content IN EXECUTE format('SELECT r::text FROM %s AS r', registry_table) LOOP
            PERFORM @extschema@.pgboost_tell_nodes(registry_table, 'put', content);
        END LOOP;
    END LOOP;
END $$;
COMMENT ON FUNCTION @extschema@.pgboost_sync_nodes() IS
    'gives all nodes of a Citus cluster the models of the coordinator; '
    'run it once, and after a node was added';
REVOKE ALL ON FUNCTION @extschema@.pgboost_sync_nodes() FROM PUBLIC;

CREATE FUNCTION @extschema@.pgboost_registry_digest() RETURNS text
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
    SET "DateStyle" = 'ISO, YMD' SET "TimeZone" = 'UTC' SET bytea_output = 'hex' SET extra_float_digits = 1
AS $$
DECLARE
    registry_table regclass;
    of_table text;
    digest text := (SELECT extversion FROM pg_extension WHERE extname = 'pgboost');
BEGIN
    FOR registry_table IN SELECT t FROM @extschema@.pgboost_registry_tables() AS t ORDER BY t::text LOOP
        EXECUTE format('SELECT coalesce(string_agg(md5(r::text), '','' ORDER BY md5(r::text)), '''') '
                       'FROM %s AS r',
                       registry_table) INTO of_table;
        digest := md5(digest || of_table);
    END LOOP;
    RETURN digest;
END $$;
COMMENT ON FUNCTION @extschema@.pgboost_registry_digest() IS
    'pgboost_citus: a digest of this node''s models, privileges and version of pgboost';
REVOKE ALL ON FUNCTION @extschema@.pgboost_registry_digest() FROM PUBLIC;

CREATE FUNCTION @extschema@.pgboost_check_nodes(OUT node text, OUT digest text, OUT same boolean)
    RETURNS SETOF record
    LANGUAGE sql SET search_path = pg_catalog, pg_temp
    AS $$ SELECT n.nodename || ':' || n.nodeport, CASE WHEN r.success THEN r.result END,
                 r.success AND r.result = @extschema@.pgboost_registry_digest()
            FROM run_command_on_all_nodes('SELECT @extschema@.pgboost_registry_digest()') AS r
            JOIN pg_dist_node AS n ON n.nodeid = r.nodeid
           ORDER BY n.groupid $$;
COMMENT ON FUNCTION @extschema@.pgboost_check_nodes() IS
    'whether each node of a Citus cluster has the models of this one, '
    'with its digest, or NULL if it does not answer';
REVOKE ALL ON FUNCTION @extschema@.pgboost_check_nodes() FROM PUBLIC;

-- They run as the owner, whatever table they are a trigger of.
REVOKE ALL ON FUNCTION @extschema@.pgboost_registry_row_changed(), @extschema@.pgboost_registry_truncated(),
    @extschema@.pgboost_make_change(), @extschema@.pgboost_tell_nodes(regclass, text, text) FROM PUBLIC;

DO $$
DECLARE
    registry_table regclass;
BEGIN
    FOR registry_table IN SELECT @extschema@.pgboost_registry_tables() LOOP
        EXECUTE format('CREATE TRIGGER tell_nodes AFTER INSERT OR UPDATE OR DELETE ON %s FOR EACH ROW '
                       'EXECUTE FUNCTION @extschema@.pgboost_registry_row_changed()', registry_table);
        EXECUTE format('CREATE TRIGGER tell_nodes_of_truncate AFTER TRUNCATE ON %s FOR EACH STATEMENT '
                       'EXECUTE FUNCTION @extschema@.pgboost_registry_truncated()', registry_table);
    END LOOP;
END $$;
