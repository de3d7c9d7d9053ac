-- Brings the models of PostgresML into pgboost. Run it with psql in the database that has both:
--
--     psql -f sql/pgml/from_pgml.sql
--
-- It reads the tables of schema pgml, not the library, so pgml need not be able to start any more.
-- Every model becomes a version of a model of its project's name, oldest first, and the deployed one
-- is deployed. Where pgml still predicts, each model is compared with it on drawn rows before, and left out
-- if they differ. The table pgml_model stays as the report: what was loaded, and why the rest was not.
-- docs/from-pgml.md says how to bring models from another server.
\set ON_ERROR_STOP on
BEGIN;

\ir pgml_model.sql

-- Models of this server; those of another one are in the table already.
SELECT to_regclass('pgml.models') IS NOT NULL AS here \gset
\if :here
    \ir pgml_found.sql
    INSERT INTO pgml_model (project, id, task, runtime, algorithm, hyperparams, metrics, columns, deployed, bytes)
        SELECT * FROM pgml_found ON CONFLICT (id) DO NOTHING;
\endif

-- The features in pgml's order: its columns but the label, an array column once per element.
CREATE FUNCTION pg_temp.feature_names(columns jsonb) RETURNS text[] LANGUAGE sql AS $$
    SELECT array_agg(CASE WHEN (c ->> 'array')::boolean THEN format('%s[%s]', c ->> 'name', element)
                          ELSE c ->> 'name' END
                     ORDER BY (c ->> 'position')::integer, element)
      FROM jsonb_array_elements(columns) AS c,
           generate_series(1, greatest(1, (c ->> 'size')::integer)) AS element
     WHERE NOT (c ->> 'label')::boolean
$$;

-- The texts of a column in the order of their codes. Where codes leave a gap, nothing has that text.
CREATE FUNCTION pg_temp.texts(pgml_column jsonb) RETURNS jsonb LANGUAGE sql AS $$
    SELECT jsonb_agg(coalesce(category, format('__CODE_%s__', code)) ORDER BY code)
      FROM (SELECT key AS category, (value ->> 'value')::real::integer AS code
              FROM jsonb_each(pgml_column #> '{statistics,categories}')) AS found
     RIGHT JOIN generate_series(0, (SELECT max((value ->> 'value')::real::integer)
                                      FROM jsonb_each(pgml_column #> '{statistics,categories}'))) AS code USING (code)
$$;

-- The columns of text as load_model takes categories; NULL if there are none.
CREATE FUNCTION pg_temp.categories(columns jsonb) RETURNS jsonb LANGUAGE sql AS $$
    SELECT jsonb_object_agg(c ->> 'name', pg_temp.texts(c))
      FROM jsonb_array_elements(columns) AS c
     WHERE NOT (c ->> 'label')::boolean
       AND jsonb_typeof(c #> '{statistics,categories}') = 'object'
       AND c #> '{statistics,categories}' <> '{}'
$$;

-- The classes of a label of text; NULL for a label of numbers.
CREATE FUNCTION pg_temp.labels(columns jsonb) RETURNS text[] LANGUAGE sql AS $$
    SELECT (SELECT array_agg(label ORDER BY place)
              FROM jsonb_array_elements_text(pg_temp.texts(c)) WITH ORDINALITY AS t(label, place))
      FROM jsonb_array_elements(columns) AS c
     WHERE (c ->> 'label')::boolean
       AND jsonb_typeof(c #> '{statistics,categories}') = 'object'
       AND c #> '{statistics,categories}' <> '{}'
     LIMIT 1
$$;

-- Why a model cannot be brought over as it is; NULL if it can.
CREATE FUNCTION pg_temp.obstacle(found pgml_model) RETURNS text LANGUAGE sql AS $$
    SELECT CASE
        WHEN found.runtime <> 'rust' THEN
            'a pickle of Python: load it there, and send the model with the Python package pgboost'
        WHEN found.algorithm NOT IN ('xgboost', 'lightgbm') THEN
            format('%s is not a model of trees', found.algorithm)
        WHEN found.bytes IS NULL THEN 'pgml has no file of it'
        ELSE (SELECT format('column "%s" is preprocessed (%s): train the model again on a view that does the same',
                            c ->> 'name', c -> 'preprocessor')
                FROM jsonb_array_elements(found.columns) AS c
               WHERE NOT (c ->> 'label')::boolean
                 AND (coalesce(c #>> '{preprocessor,encode}', 'native') <> 'native'
                      OR coalesce(c #>> '{preprocessor,impute}', 'error') NOT IN ('error', 'panic')
                      OR coalesce(c #>> '{preprocessor,scale}', 'preserve') <> 'preserve')
               ORDER BY (c ->> 'position')::integer LIMIT 1)
        END
$$;

-- pgml 2.0.0 wrote 16 bytes before a model of XGBoost.
CREATE FUNCTION pg_temp.model_file(found pgml_model) RETURNS bytea LANGUAGE sql AS $$
    SELECT CASE WHEN found.algorithm = 'xgboost' AND substr(found.bytes, 17, 4) = 'binf'
                THEN substr(found.bytes, 17) ELSE found.bytes END
$$;

-- Rows of features as pgml had them in training: numbers by mean and deviation, codes of texts.
CREATE FUNCTION pg_temp.drawn(columns jsonb) RETURNS SETOF real[] LANGUAGE sql VOLATILE AS $$
    SELECT (SELECT array_agg(CASE WHEN c #> '{statistics,categories}' <> 'null'
                                  THEN floor(random() * (SELECT count(*) FROM jsonb_object_keys(c #> '{statistics,categories}')))
                                  ELSE coalesce((c #>> '{statistics,mean}')::float8, 0)
                                       + coalesce((c #>> '{statistics,std_dev}')::float8, 1) * 6 * (random() - 0.5)
                             END::real + 0 * number ORDER BY (c ->> 'position')::integer, element)
              FROM jsonb_array_elements(columns) AS c,
                   generate_series(1, greatest(1, (c ->> 'size')::integer)) AS element
             WHERE NOT (c ->> 'label')::boolean)
      FROM generate_series(1, 500) AS number
$$;

-- A row that pgml predicts otherwise than pgboost; NULL if there is none, or if pgml cannot be asked.
CREATE FUNCTION pg_temp.difference(found pgml_model, reference text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    call text := CASE WHEN found.task = 'regression' THEN 'SELECT ARRAY[pgml.predict($1, $2)]'
                      ELSE 'SELECT pgml.predict_proba($1, $2)' END;
    features real[];
    theirs real[];
    ours real[];
BEGIN
    FOR features IN SELECT row FROM pg_temp.drawn(found.columns) AS row WHERE row IS NOT NULL LOOP
        BEGIN
            EXECUTE call INTO theirs USING found.id, features;
        EXCEPTION WHEN OTHERS THEN
            RETURN NULL;
        END;
        ours := predict_array(reference, features);
        IF cardinality(ours) = cardinality(theirs)
           AND EXISTS (SELECT FROM unnest(ours, theirs) AS t(a, b)
                        WHERE abs(a - b) > 1e-6 + 1e-5 * greatest(abs(a), abs(b))) THEN
            RETURN format('pgml predicts %s for %s, pgboost %s', theirs, features, ours);
        END IF;
    END LOOP;
    RETURN NULL;
END
$$;

DO $$
DECLARE
    found pgml_model;
    reason text;
    classes text[];
    number integer;
    info jsonb;
    other text;
BEGIN
    FOR found IN SELECT * FROM pgml_model AS m WHERE m.version IS NULL ORDER BY m.id LOOP
        reason := pg_temp.obstacle(found);
        IF reason IS NOT NULL THEN
            UPDATE pgml_model SET note = reason WHERE id = found.id;
            CONTINUE;
        END IF;
        classes := CASE WHEN found.task = 'classification' THEN pg_temp.labels(found.columns) END;
        BEGIN
            BEGIN
                number := load_model(found.project, pg_temp.model_file(found), labels => classes,
                                     feature_names => pg_temp.feature_names(found.columns),
                                     categories => pg_temp.categories(found.columns),
                                     params => found.hyperparams, metrics => found.metrics, allow_change => true);
            EXCEPTION WHEN invalid_parameter_value THEN
                -- pgml counts the missing label as a separate class, which the model may not have.
                IF classes IS NULL THEN
                    RAISE;
                END IF;
                number := load_model(found.project, pg_temp.model_file(found),
                                     feature_names => pg_temp.feature_names(found.columns),
                                     categories => pg_temp.categories(found.columns),
                                     params => found.hyperparams, metrics => found.metrics, allow_change => true);
                reason := 'loaded without labels, since their number is not that of the classes';
            END;
            info := model_info(format('%s@%s', found.project, number));
            IF (info ->> 'trees')::integer = 0 THEN
                RAISE EXCEPTION 'it has no trees: pgml 2.8.4 to 2.9.3 did not train; train it again';
            END IF;
            other := pg_temp.difference(found, format('%s@%s', found.project, number));
            IF other IS NOT NULL THEN
                RAISE EXCEPTION '%', other;
            END IF;
            UPDATE pgml_model SET model = found.project, version = number, note = reason WHERE id = found.id;
        EXCEPTION WHEN data_exception OR feature_not_supported OR invalid_parameter_value OR raise_exception
                    OR program_limit_exceeded OR invalid_binary_representation OR invalid_name THEN
            UPDATE pgml_model SET note = SQLERRM WHERE id = found.id;
        END;
    END LOOP;
    PERFORM deploy_model(m.model || '@' || m.version, allow_change => true)
       FROM pgml_model AS m WHERE m.deployed AND m.version IS NOT NULL;
END
$$;

COMMIT;

SELECT project, id, algorithm, deployed, model, version, note FROM pgml_model ORDER BY id;
