-- The models that all files use, from models/generate.py. What they answer:
--   price         area < 50: 0, else 100; rooms >= 3: 10 more; NULL as the smaller; age: no matter
--   price_doubled the same times two
--   churn         margin -1 for calls < 4.5, 0 for calls < 8.5, else 1; months: no matter
--   flower        length < 2: setosa, < 4: versicolor, else virginica; width: no matter
--   gaps          y < 5: 1 for x < 5, 2 for x < 18, else 7; y >= 5 or NULL: 10 more; x NULL: as x >= 18
--   tickets       weekend or NULL: 1; zone 20 or NULL: 2; hours >= 5 or NULL: 4
--   codes         code 1: 5; x >= 9 or NULL: 1 more
--   targets       x < 9: {10,-10}, else {20,-20}
--   nameless      ten times the first feature plus the second
\getenv directory PG_ABS_SRCDIR
CREATE TABLE model_file (name text PRIMARY KEY, content bytea NOT NULL);
GRANT SELECT ON model_file TO PUBLIC;
\set content `base64 -w0 :'directory'/sql/models/price.ubj`
INSERT INTO model_file VALUES ('price', decode(:'content', 'base64'));
\set content `base64 -w0 :'directory'/sql/models/price_doubled.json`
INSERT INTO model_file VALUES ('price_doubled', decode(:'content', 'base64'));
\set content `base64 -w0 :'directory'/sql/models/churn.ubj`
INSERT INTO model_file VALUES ('churn', decode(:'content', 'base64'));
\set content `base64 -w0 :'directory'/sql/models/flower.json`
INSERT INTO model_file VALUES ('flower', decode(:'content', 'base64'));
\set content `base64 -w0 :'directory'/sql/models/flower_class.ubj`
INSERT INTO model_file VALUES ('flower_class', decode(:'content', 'base64'));
\set content `base64 -w0 :'directory'/sql/models/gaps.json`
INSERT INTO model_file VALUES ('gaps', decode(:'content', 'base64'));
\set content `base64 -w0 :'directory'/sql/models/tickets.ubj`
INSERT INTO model_file VALUES ('tickets', decode(:'content', 'base64'));
\set content `base64 -w0 :'directory'/sql/models/codes.json`
INSERT INTO model_file VALUES ('codes', decode(:'content', 'base64'));
\set content `base64 -w0 :'directory'/sql/models/targets.ubj`
INSERT INTO model_file VALUES ('targets', decode(:'content', 'base64'));
\set content `base64 -w0 :'directory'/sql/models/nameless.ubj`
INSERT INTO model_file VALUES ('nameless', decode(:'content', 'base64'));
\set content `base64 -w0 :'directory'/sql/models/linear.json`
INSERT INTO model_file VALUES ('linear', decode(:'content', 'base64'));
\set content `base64 -w0 :'directory'/sql/models/large.ubj`
INSERT INTO model_file VALUES ('large', decode(:'content', 'base64'));

CREATE FUNCTION file_of(name text) RETURNS bytea LANGUAGE sql STABLE
    RETURN (SELECT f.content FROM model_file AS f WHERE f.name = file_of.name);

-- Whether a query has the same rows with and without batches, and in which way they are computed.
CREATE FUNCTION with_and_without(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    sums text[];
    rows bigint;
    state text;
    plan text;
    batches boolean := false;
BEGIN
    FOREACH state IN ARRAY ARRAY['off', 'on'] LOOP
        PERFORM set_config('pgboost.enable_batch', state, true);
        EXECUTE format('SELECT count(*), md5(coalesce(string_agg(q::text, E''\n''), '''')) FROM (%s) AS q', query) INTO rows, plan;
        sums := sums || plan;
    END LOOP;
    FOR plan IN EXECUTE 'EXPLAIN ' || query LOOP
        batches := batches OR plan LIKE '%BatchPredict%';
    END LOOP;
    RETURN format('%s rows, %s, %s', rows, CASE WHEN sums[1] = sums[2] THEN 'the same' ELSE 'DIFFERENT' END,
                  CASE WHEN batches THEN 'in batches' ELSE 'row by row' END);
END $$;
-- The planner's cost of a query.
CREATE FUNCTION cost_of(query text) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
    RETURN plan -> 0 -> 'Plan' ->> 'Total Cost';
END $$;

SELECT load_model(name, content, categories => CASE name WHEN 'codes' THEN '{}'::jsonb END)
    FROM model_file WHERE name NOT IN ('linear', 'flower') ORDER BY name;
SELECT load_model('flower', file_of('flower'), labels => ARRAY['setosa', 'versicolor', 'virginica']);
SELECT name, version, deployed, objective, features, outputs, trees, depth, format FROM pgboost_models ORDER BY name;
