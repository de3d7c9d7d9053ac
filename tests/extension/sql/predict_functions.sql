-- A function for one model: its arguments, its privileges, and how it comes and goes.
\pset null (null)
SELECT create_predict_function('price');
\df price
SELECT obj_description('price'::regproc, 'pg_proc');
SELECT price(60, 4, 1), price(area => 60, rooms => 4, age => 1), price(60), price(), predict('price', 60, 4, 1);
SELECT create_predict_function('tickets', 'fine');
\df fine
SELECT fine('sat', 20, 6), fine(zone => 20), predict('tickets', 'sat', 20, 6);
SELECT create_predict_function('flower');
SELECT flower(1, 1), predict_array('flower', 1, 1);
SELECT create_predict_function('flower', 'kind_of_flower', output => 'predict_class');
SELECT kind_of_flower(1, 1), kind_of_flower(length => 3);
SELECT create_predict_function('codes');
SELECT create_predict_function('nameless');
\df nameless
SELECT nameless(f1 => 2, f0 => 1);

-- It predicts in batches, as the call in its place would.
CREATE TABLE flat AS SELECT i::real AS area, 4::real AS rooms, 1::real AS age FROM generate_series(1, 1000) AS i;
ANALYZE flat;
EXPLAIN (COSTS off) SELECT price(area, rooms, age) FROM flat;
SELECT sum(price(area, rooms, age)), sum(predict('price', area, rooms, age)) FROM flat;
-- Every type of numbers finds it.
SELECT price(60::double precision, 4::numeric, 1::bigint), price(60::real, 4::smallint, 1);

-- An existing function is not overwritten.
SELECT create_predict_function('price');
CREATE FUNCTION mine(text) RETURNS text LANGUAGE sql RETURN $1;
SELECT create_predict_function('price', 'mine');
SELECT mine('still there');
-- With replace it is, and keeps its rights; one for other features takes its place.
SELECT load_model('m', file_of('price'));
SELECT create_predict_function('m');
CREATE ROLE regress_caller;
REVOKE EXECUTE ON FUNCTION m FROM PUBLIC;
SELECT load_model('m', file_of('price_doubled'));
SELECT create_predict_function('m@1', 'm', replace => true);
SELECT m(60, 4, 1), predict('m', 60, 4, 1), has_function_privilege('regress_caller', 'm(double precision, double precision, double precision)', 'EXECUTE');
SELECT load_model('m', file_of('nameless'));
SELECT create_predict_function('m', replace => true);
\df m
-- An alias is a model too.
SELECT set_alias('m@1', 'first');
SELECT create_predict_function('m@first', 'm_first');
SELECT m_first(60, 4, 1), predict('m@1', 60, 4, 1);

-- A version with other features in their places is not deployed while a function gives them by position.
SELECT load_model('moved', file_of('price'));
SELECT create_predict_function('moved');
SELECT load_model('moved', file_of('price'), feature_names => ARRAY['rooms', 'area', 'age']);
SELECT load_model('moved', file_of('price'), feature_names => ARRAY['rooms', 'area', 'age'], deploy => false);
SELECT deploy_model('moved@2');
DROP FUNCTION moved;
SELECT deploy_model('moved@2', allow_change => true);
SELECT create_predict_function('moved');
SELECT moved(area => 4, rooms => 60, age => 1), predict('price', 60, 4, 1);
-- Nor does an alias refer to one; a function of a version does not mind.
SELECT create_predict_function('moved@1', 'moved_first'), set_alias('moved@1', 'used');
SELECT create_predict_function('moved@used', 'moved_used');
SELECT set_alias('moved@2', 'used');
DROP FUNCTION moved, moved_used;
SELECT set_alias('moved@2', 'used', allow_change => true), deploy_model('moved@1', allow_change => true);
-- A function is replaced whatever its arguments were called.
SELECT create_predict_function('moved@2', 'moved_first', replace => true);
\df moved_first

-- Names that need quotes, and another schema.
CREATE SCHEMA "My Scores";
SELECT load_model('It''s "mine"', file_of('price'), feature_names => ARRAY['select', 'Über "x"', 'a b']);
SELECT create_predict_function('It''s "mine"', schema => 'My Scores');
SELECT "My Scores"."It's ""mine"""("select" => 60, "Über ""x""" => 4, "a b" => 1);
SELECT pg_get_function_arguments(oid) FROM pg_proc WHERE pronamespace = '"My Scores"'::regnamespace;

-- Calls that are refused.
SELECT create_predict_function('nosuch');
SELECT create_predict_function(NULL);
SELECT create_predict_function('price', output => 'predict_leaf');
SELECT create_predict_function('price', 'elsewhere', schema => 'nosuch');
SELECT create_predict_function('price@9', 'nine');
SET search_path = nosuch;
\set VERBOSITY sqlstate
SELECT public.create_predict_function('price', 'nowhere');
\set VERBOSITY default
RESET search_path;

-- Rights: EXECUTE for the function, and the model's own for the prediction.
GRANT EXECUTE ON FUNCTION load_model, create_predict_function, drop_model TO regress_caller;
SET ROLE regress_caller;
SELECT price(60, 4, 1);
SELECT create_predict_function('price', 'other');
SELECT m(1, 2);
RESET ROLE;
SELECT grant_model('price', 'regress_caller');
SET ROLE regress_caller;
SELECT price(60, 4, 1);
RESET ROLE;
REVOKE EXECUTE ON FUNCTION price FROM PUBLIC;
SET ROLE regress_caller;
SELECT price(60, 4, 1);
RESET ROLE;
-- With SECURITY DEFINER, EXECUTE alone is enough.
SELECT revoke_model('price', 'regress_caller');
ALTER FUNCTION price SECURITY DEFINER;
GRANT EXECUTE ON FUNCTION price TO regress_caller;
SET ROLE regress_caller;
SELECT price(60, 4, 1);
SELECT predict('price', 60, 4, 1);
-- Who owns a model makes its function where PostgreSQL allows it.
SELECT load_model('own', public.file_of('price'));
SELECT create_predict_function('own', schema => 'My Scores');
RESET ROLE;
GRANT CREATE, USAGE ON SCHEMA "My Scores" TO regress_caller;
SET ROLE regress_caller;
SELECT create_predict_function('own', schema => 'My Scores');
SELECT drop_model('own');
RESET ROLE;
SELECT count(*) FROM pg_proc WHERE proname = 'own';

-- They go with the model, unless something depends on them or they were renamed.
CREATE VIEW scored AS SELECT m_first(area, rooms, age) FROM flat;
SELECT drop_model('m');
SELECT count(*) FROM pg_proc WHERE proname IN ('m', 'm_first');
DROP VIEW scored;
ALTER FUNCTION m RENAME TO kept;
SELECT drop_model('m');
SELECT proname FROM pg_proc WHERE proname IN ('m', 'm_first', 'kept');
SELECT kept(1, 2);
-- A version that is dropped leaves them.
SELECT load_model('price', file_of('price_doubled'));
SELECT drop_model('price@1');
SELECT price(60, 4, 1);
-- A drop that rolls back drops nothing.
BEGIN;
SELECT drop_model('price');
ROLLBACK;
SELECT price(60, 4, 1);
DROP OWNED BY regress_caller;
DROP ROLE regress_caller;
SELECT function FROM pgboost_catalog.function ORDER BY 1;
