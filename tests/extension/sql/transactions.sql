-- Load, deploy and drop are part of the transaction, and a statement sees what its snapshot sees.
\pset null (null)
CREATE FUNCTION price_of(model text) RETURNS real LANGUAGE sql STABLE RETURN predict(model, 60, 4, 1);

-- A rolled-back load leaves no model.
BEGIN;
SELECT load_model('m', file_of('price'));
SELECT price_of('m');
ROLLBACK;
SELECT price_of('m');
SELECT load_model('m', file_of('price'));
BEGIN;
SELECT load_model('m', file_of('price_doubled'));
SELECT price_of('m'), price_of('m@1'), price_of('m@2');
ROLLBACK;
SELECT price_of('m');
SELECT price_of('m@2');
-- The number is given again, since no other session ever saw it.
SELECT load_model('m', file_of('price_doubled'));
SELECT price_of('m');
BEGIN;
SELECT deploy_model('m@1');
SELECT price_of('m');
ROLLBACK;
SELECT price_of('m');
BEGIN;
SELECT drop_model('m');
SELECT price_of('m');
ROLLBACK;
SELECT price_of('m'), price_of('m@1');
BEGIN;
SELECT drop_model('m@1');
ROLLBACK;
SELECT price_of('m@1');

-- Savepoints.
BEGIN;
SELECT price_of('m');
SAVEPOINT a;
SELECT deploy_model('m@1');
SELECT price_of('m');
SAVEPOINT b;
SELECT drop_model('m');
SELECT price_of('m');
ROLLBACK TO b;
SELECT price_of('m');
ROLLBACK TO a;
SELECT price_of('m');
SELECT load_model('m', file_of('price'));
SELECT price_of('m'), price_of('m@3');
RELEASE a;
COMMIT;
SELECT price_of('m'), price_of('m@3');
SELECT drop_model('m@1');
SELECT deploy_model('m@2'), drop_model('m@3');

-- Dropped and loaded again within one transaction: the same name and number, other bytes.
BEGIN;
SELECT drop_model('price_doubled');
SELECT load_model('price_doubled', file_of('price'));
SELECT price_of('price_doubled'), price_of('price_doubled@1');
ROLLBACK;
SELECT price_of('price_doubled'), price_of('price_doubled@1');

-- Prepared statements follow.
SELECT load_model('p', file_of('price'));
SELECT load_model('p', file_of('price_doubled'));
PREPARE one AS SELECT predict('p', 60, 4, 1);
PREPARE by_name (text) AS SELECT predict($1, 60, 4, 1);
SET plan_cache_mode = force_generic_plan;
EXECUTE one;
EXECUTE by_name ('p');
SELECT deploy_model('p@1');
EXECUTE one;
EXECUTE by_name ('p');
SELECT drop_model('p');
EXECUTE one;
SELECT load_model('p', file_of('price_doubled'));
EXECUTE one;
EXECUTE by_name ('p');
SELECT load_model('p', file_of('price'));
EXECUTE one;
RESET plan_cache_mode;

-- In PL/pgSQL each expression is a separate statement, and sees what came before it.
DO $$
BEGIN
    FOR i IN 1..4 LOOP
        PERFORM deploy_model('p@' || 1 + i % 2);
        RAISE NOTICE 'version % gives %', 1 + i % 2, predict('p', 60, 4, 1);
    END LOOP;
    PERFORM drop_model('p');
    BEGIN
        RAISE NOTICE 'gives %', predict('p', 60, 4, 1);
    EXCEPTION WHEN undefined_object THEN
        RAISE NOTICE '%', SQLERRM;
    END;
    RAISE NOTICE 'loaded as %', load_model('p', file_of('price'));
    RAISE NOTICE 'gives %', predict('p', 60, 4, 1);
    BEGIN
        PERFORM load_model('p', file_of('price_doubled'));
        RAISE NOTICE 'gives %', predict('p', 60, 4, 1);
        RAISE division_by_zero;
    EXCEPTION WHEN division_by_zero THEN
        RAISE NOTICE 'rolled back, gives %', predict('p', 60, 4, 1);
    END;
    COMMIT;
    RAISE NOTICE 'committed, gives %', predict('p', 60, 4, 1);
    PERFORM load_model('p', file_of('price_doubled'));
    RAISE NOTICE 'gives %', predict('p', 60, 4, 1);
    ROLLBACK;
    RAISE NOTICE 'rolled back, gives %', predict('p', 60, 4, 1);
END $$;

-- Within one statement nothing changes, whatever the statement itself does to the model.
SELECT load_model('p', file_of('price_doubled'));
SELECT i, predict('p', 60, 4, 1), deploy_model('p@1'), predict('p', 60, 4, 1) FROM generate_series(1, 2) AS i;
SELECT price_of('p');

-- A cursor keeps what it saw when it was opened.
BEGIN;
DECLARE c CURSOR FOR SELECT i, predict('p', 60, 4, 1) FROM generate_series(1, 4) AS i;
FETCH 1 FROM c;
SELECT deploy_model('p@2');
SELECT price_of('p');
FETCH 1 FROM c;
DECLARE d CURSOR FOR SELECT i, predict('p', 60, 4, 1) FROM generate_series(1, 2) AS i;
SELECT drop_model('p');
SELECT load_model('p', file_of('gaps'));
SELECT predict('p', 1, 1);
FETCH 1 FROM d;
FETCH 1 FROM c;
SELECT predict('p', 1, 1);
FETCH 1 FROM c;
COMMIT;
SELECT predict('p', 1, 1);

-- So does a cursor WITH HOLD, and a transaction that reads repeatably sees its own changes.
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT predict('p', 1, 1);
SELECT load_model('p', file_of('price'));
SELECT price_of('p');
DECLARE h CURSOR WITH HOLD FOR SELECT predict('p', 60, 4, 1) FROM generate_series(1, 2);
COMMIT;
SELECT drop_model('p');
FETCH ALL FROM h;
CLOSE h;

-- A transaction that is read-only predicts, and changes nothing.
BEGIN READ ONLY;
SELECT price_of('price');
SELECT load_model('r', file_of('price'));
\echo :SQLSTATE
ROLLBACK;
BEGIN READ ONLY;
SELECT deploy_model('price@1');
\echo :SQLSTATE
ROLLBACK;
BEGIN READ ONLY;
SELECT drop_model('price');
\echo :SQLSTATE
ROLLBACK;
-- A trigger may change a setting for the transaction, as pgboost_citus's does.
CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('told.of', TG_TABLE_NAME, true);
    RETURN NULL;
END $$;
CREATE TRIGGER tell AFTER INSERT ON pgboost_catalog.model FOR EACH ROW EXECUTE FUNCTION tell();
BEGIN;
SELECT load_model('told', file_of('price'));
SHOW told.of;
ROLLBACK;
DROP FUNCTION tell CASCADE;
-- A failed transaction does nothing.
BEGIN;
SELECT 1 / 0;
SELECT price_of('price');
ROLLBACK;

-- Statements that change the tables by hand are seen as well, as logical replication would make them.
BEGIN;
UPDATE pgboost_catalog.model SET deployed = 2 WHERE name = 'm';
SELECT price_of('m');
ROLLBACK;
SELECT load_model('m', file_of('price'));
SELECT price_of('m');
UPDATE pgboost_catalog.model SET deployed = 2 WHERE name = 'm';
SELECT price_of('m');
TRUNCATE pgboost_catalog.model, pgboost_catalog.version, pgboost_catalog.privilege;
SELECT price_of('m');
