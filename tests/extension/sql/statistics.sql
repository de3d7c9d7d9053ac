-- pg_stat_pgboost: its counters, and the roles that see them.
\pset null (null)
SET client_min_messages = warning;
CREATE VIEW used AS SELECT name, version, calls, rows, batches, total_time > 0 AS timed, missing_rows, last_used <= now() AS dated
    FROM pg_stat_pgboost WHERE name IN ('price', 'm') ORDER BY name, version;
SELECT pg_stat_pgboost_reset();
SELECT load_model('m', file_of('price')), load_model('m', file_of('price_doubled'));

-- Off, nothing is counted.
SHOW pgboost.track_predictions;
SELECT predict('m', 60, 4, 1);
SELECT * FROM used;

-- On, each function counts the version that it used, whatever it was called.
SET pgboost.track_predictions = on;
SELECT predict('m', 60, 4, 1);
SELECT predict('m@2', 60, 4, 1), predict('m@1', 60, NULL, 1);
SELECT set_alias('m@1', 'first');
SELECT predict_array('m@first', 60, 4, NULL);
SELECT predict_margin('m', 60, 4, 1), predict_leaf('m', 60, 4, 1), predict_from('m', 0, 60, 4, 1);
SELECT * FROM used;
-- Rows of a batch are counted too.
SELECT count(p) FROM (SELECT predict('price', i, CASE WHEN i % 4 > 0 THEN 4 END, 1) AS p FROM generate_series(1, 1000) AS i OFFSET 0) AS f;
SELECT name, version, rows, missing_rows FROM used WHERE name = 'price';
-- Rows that fail are not.
SELECT predict('price', 'x', 4, 1);
SELECT predict('price', 1, 2);
SELECT name, version, rows FROM used WHERE name = 'price';
-- So are rows with a feature outside of the range that it had in training, where that is known.
CREATE VIEW outside AS SELECT rows, missing_rows, outside_rows FROM pg_stat_pgboost WHERE name = 'price';
SELECT pg_stat_pgboost_reset();
SELECT predict('price', 1000, 4, 1);
SELECT set_baseline('price', 'SELECT 40 + i AS area, 4 AS rooms, i AS age FROM generate_series(0, 20) AS i');
SELECT predict('price', 40, 4, 0), predict('price', 60, 4, 20), predict('price', NULL, 4, NULL);
SELECT predict('price', 39, 4, 1), predict('price', 60, 5, 1), predict('price', 60, NULL, 21);
SELECT * FROM outside;
SELECT count(p) FROM (SELECT predict('price', i, 4, 1) AS p FROM generate_series(1, 1000) AS i OFFSET 0) AS f;
SELECT count(predict(CASE WHEN i % 2 = 0 THEN 'price' ELSE 'm@1' END, i, 4, 1)) FROM generate_series(1, 100) AS i;
SELECT * FROM outside;
-- A new profile counts from the next statement on; a version of the same bytes has none.
SELECT set_baseline('price', 'SELECT i AS area, 4 AS rooms, 1 AS age FROM generate_series(0, 2000, 1000) AS i');
SELECT predict('price', 1000, 4, 1), predict('price', 1000, 4, 2);
SELECT load_model('m', file_of('price'));
SELECT predict('m', 1000, 4, 2);
SELECT * FROM outside;
SELECT name, version, outside_rows FROM pg_stat_pgboost WHERE name = 'm' AND outside_rows > 0;
SELECT pg_stat_pgboost_reset();
-- A model per row.
SELECT count(predict(CASE WHEN i % 2 = 0 THEN 'price' ELSE 'm@1' END, i, 4, 1)) FROM generate_series(1, 100) AS i;
SELECT name, version, rows FROM used;
-- Another connection sees what this one counted, and a rollback does not take it back.
BEGIN;
SELECT predict('m@1', 60, 4, 1);
ROLLBACK;
\c -
SET client_min_messages = warning;
SELECT name, version, rows FROM used;

-- A user sees the models that it may predict with; only superusers count and reset, unless they let others.
CREATE ROLE regress_used;
GRANT SELECT ON used TO regress_used;
SELECT grant_model('price', 'regress_used');
GRANT USAGE ON SCHEMA pgboost_catalog TO regress_used;
SELECT id AS m FROM pgboost_catalog.model WHERE name = 'm' \gset
SET ROLE regress_used;
SELECT name, version, rows FROM pg_stat_pgboost;
SELECT * FROM pgboost_catalog.statistics(:'m', 1);
SET pgboost.track_predictions = on;
SELECT pg_stat_pgboost_reset();
-- Members of pg_read_all_stats, such as those of pg_monitor, see all models; they see no more of them than that.
RESET ROLE;
SELECT revoke_model('price', 'regress_used');
GRANT pg_monitor TO regress_used;
SET ROLE regress_used;
SELECT name, version, deployed, rows FROM pg_stat_pgboost WHERE rows > 0 ORDER BY name, version;
SELECT rows FROM pgboost_catalog.statistics(:'m', 1);
SELECT * FROM pgboost_catalog.statistics('00000000-0000-0000-0000-000000000000', 1);
SELECT count(*) FROM pgboost_models;
SELECT predict('price', 60, 4, 1);
SELECT pg_stat_pgboost_reset();
RESET ROLE;
DROP OWNED BY regress_used;
DROP ROLE regress_used;

SELECT pg_stat_pgboost_reset();
SELECT * FROM used;
