-- The settings: their defaults and bounds, and who may set them.
SET client_min_messages = warning;
LOAD 'pgboost';
SELECT name, setting, unit, context, vartype, min_val, max_val, enumvals FROM pg_settings WHERE name LIKE 'pgboost.%' ORDER BY name;
-- Those for developers are in no sample of a configuration file.
SELECT name FROM pg_settings WHERE name LIKE 'pgboost.%' AND 'NOT_IN_SAMPLE' = ANY (pg_settings_get_flags(name)) ORDER BY name;
SHOW pgboost.cache_size;
SET pgboost.cache_size = '64MB';
SHOW pgboost.cache_size;
-- From PostgreSQL 17 on, the message has a unit at the bounds.
\set VERBOSITY sqlstate
SET pgboost.cache_size = '1023kB';
SET pgboost.cache_size = -1;
SET pgboost.max_model_size = 0;
SET pgboost.max_model_size = '1GB';
\set VERBOSITY default
SET pgboost.cache_size = 'much';
SET pgboost.unknown_category = 'ignore';
SET pgboost.unknown_category = 'MISSING';
SHOW pgboost.unknown_category;
SHOW pgboost.cache_size;
RESET ALL;
SHOW pgboost.cache_size;
SHOW pgboost.unknown_category;
-- A misspelt setting is refused.
SET pgboost.cachesize = '64MB';
SET pgboost.nosuch = 1;

-- Superusers set the limits of memory, and grant that right; everybody sets the policy of categories.
SET client_min_messages = warning;
CREATE ROLE regress_setter;
SET ROLE regress_setter;
SET pgboost.cache_size = '1GB';
SET pgboost.max_model_size = '1GB';
SELECT set_config('pgboost.cache_size', '2GB', false);
SET pgboost.unknown_category = missing;
SHOW pgboost.unknown_category;
RESET ROLE;
-- All databases share these rights, and PostgreSQL fails where two sessions change them at once.
BEGIN;
LOCK TABLE pg_parameter_acl IN SHARE ROW EXCLUSIVE MODE;
GRANT SET ON PARAMETER pgboost.cache_size TO regress_setter;
COMMIT;
SET ROLE regress_setter;
SET pgboost.cache_size = '100MB';
SHOW pgboost.cache_size;
RESET ROLE;
BEGIN;
LOCK TABLE pg_parameter_acl IN SHARE ROW EXCLUSIVE MODE;
REVOKE SET ON PARAMETER pgboost.cache_size FROM regress_setter;
COMMIT;
RESET ALL;
DROP ROLE regress_setter;

-- They take effect. Models that are loaded stay usable when the limit is lowered.
SET pgboost.max_model_size = '2kB';
SELECT load_model('small', file_of('nameless'));
SELECT load_model('small', file_of('price_doubled'));
SELECT predict('price', 60, 4, 1), predict('large', 0, 0, 0) < predict('large', 1, 1, 1) AS large;
SELECT jsonb_typeof(model_info('large')), (SELECT count(*) FROM model_features('large')), (SELECT count(*) FROM feature_importance('large'));
RESET pgboost.max_model_size;
SELECT load_model('small', file_of('nameless'));
-- The least bound: everything still works.
SET pgboost.cache_size = '1MB';
SELECT predict('price', 60, 4, 1), predict('price_doubled', 60, 4, 1), predict_class('flower', 1, 1), predict('large', 0, 0, 0) < predict('large', 1, 1, 1) AS large;
ALTER DATABASE :DBNAME SET pgboost.unknown_category = missing;
\c -
SHOW pgboost.unknown_category;
SELECT predict('tickets', 'wed', 10, 1);
ALTER DATABASE :DBNAME RESET pgboost.unknown_category;
