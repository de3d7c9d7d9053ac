-- pgml's calls on pgboost's models, for code that still has them: run it with psql after from_pgml.sql,
-- in a database without the extension pgml. The functions are in schema pgml, as pgml's were.
-- A classification predicts the number of the class, as pgml documents it. Features are in pgml's order.
\set ON_ERROR_STOP on
BEGIN;

CREATE SCHEMA IF NOT EXISTS pgml;

CREATE FUNCTION pgml.predict_proba(project_name text, features real[]) RETURNS real[] LANGUAGE sql STABLE PARALLEL SAFE
    RETURN predict_array(project_name, features);

CREATE FUNCTION pgml.predict(project_name text, features real[]) RETURNS real LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN cardinality(p) = 1 THEN p[1]
                ELSE (SELECT (place - 1)::real FROM unnest(p) WITH ORDINALITY AS t(share, place)
                       ORDER BY share DESC, place LIMIT 1) END
      FROM (SELECT predict_array(project_name, features) AS p) AS predicted
$$;

CREATE FUNCTION pgml.predict(project_name text, features double precision[]) RETURNS real LANGUAGE sql STABLE PARALLEL SAFE
    RETURN pgml.predict(project_name, features::real[]);

CREATE FUNCTION pgml.predict(project_name text, VARIADIC features numeric[]) RETURNS real LANGUAGE sql STABLE PARALLEL SAFE
    RETURN pgml.predict(project_name, features::real[]);

-- All rows of a matrix that is given as one array, row after row.
CREATE FUNCTION pgml.predict_batch(project_name text, features real[]) RETURNS SETOF real LANGUAGE sql STABLE AS $$
    SELECT pgml.predict(project_name, features[first : first + width - 1])
      FROM (SELECT (model_info(project_name) ->> 'features')::integer AS width) AS model,
           generate_series(1, cardinality(features), width) AS first
$$;

CREATE VIEW pgml.deployed_models AS
    SELECT name, version AS id, objective, loaded_at AS deployed_at FROM pgboost_models WHERE deployed;

COMMIT;
