-- Which rounds of a file predictions use, categories that are given in addition to it, and base margins.
\pset null (null)
-- The first round of price knows the area alone.
SELECT load_model('price', file_of('price'), rounds => 1);
SELECT predict('price', 60, 4, 1) AS one, predict('price@1', 60, 4, 1) AS both;
SELECT predict_leaf('price', 60, 4, 1) AS one, predict_leaf('price@1', 60, 4, 1) AS both;
SELECT version, deployed, trees, rounds, used_rounds FROM pgboost_models WHERE name = 'price' ORDER BY version;
SELECT i ->> 'rounds' AS rounds, i ->> 'used_rounds' AS used_rounds FROM model_info('price') AS i;
SELECT export_model('price') = file_of('price') AS whole;
SELECT load_model('price', file_of('price'), rounds => 2);
SELECT predict('price', 60, 4, 1);
SELECT deploy_model('price@2');
SELECT predict('price', 60, 4, 1), count(*) AS rows FROM generate_series(1, 1000) GROUP BY 1;
SELECT load_model('price', file_of('price'), rounds => 3);
SELECT load_model('price', file_of('price'), rounds => 0);
SELECT load_model('price', file_of('price'), rounds => -1);
SELECT load_model('price', file_of('price'), best_iteration => true);
SELECT load_model('price', file_of('price'), rounds => 1, best_iteration => true);

-- A file that says which round was best.
CREATE FUNCTION stopped(best integer) RETURNS bytea LANGUAGE sql STABLE
    RETURN convert_to(jsonb_set(convert_from(file_of('price_doubled'), 'UTF8')::jsonb, '{learner,attributes}',
                                jsonb_build_object('best_iteration', best::text))::text, 'UTF8');
SELECT load_model('stopped', stopped(0));
SELECT load_model('stopped', stopped(0), best_iteration => true);
SELECT load_model('stopped', stopped(0), rounds => 2);
SELECT load_model('stopped', stopped(1));
SELECT v, predict('stopped@' || v, 60, 4, 1) FROM generate_series(1, 4) AS v;
SELECT version, rounds, used_rounds, best_rounds FROM pgboost_models WHERE name IN ('stopped', 'price') ORDER BY name, version;

-- Categories that are given in addition to the file.
SELECT load_model('codes', file_of('codes'), categories => '{"code": ["none", "some", "all"]}', allow_change => true);
SELECT predict('codes', c, 1) FROM unnest(ARRAY['none', 'some', 'all', NULL]) AS c;
SELECT predict('codes', t) FROM (SELECT 'some' AS code, 9 AS x) AS t;
SELECT predict('codes', '{"code": "some", "x": 1}'::jsonb);
SELECT predict('codes', '{1, 9}'::real[]) AS array_has_codes;
SELECT * FROM model_features('codes');
SELECT model_info('codes') -> 'categories' AS categories;
SELECT predict('codes', 'Some'::text, 1);
SELECT predict('codes', 1, 1);
SELECT predict('codes@1', 1, 1), predict('codes@1', 'some'::text, 1);
SELECT load_model('codes', file_of('codes'), categories => '{"code": [7, 8, 9]}', allow_change => true);
SELECT predict('codes', 8, 1), predict('codes', 9, 1);
SELECT load_model('codes', file_of('codes'), categories => '{"colour": ["a"]}');
SELECT load_model('codes', file_of('codes'), categories => '{"code": ["a"]}');
SELECT load_model('codes', file_of('codes'), categories => '{"code": ["a", 1, "b"]}');
SELECT load_model('codes', file_of('codes'), categories => '["a", "b", "c"]');
SELECT load_model('tickets', file_of('tickets'), categories => '{"weekday": ["a", "b", "c", "d"]}');
SELECT load_model('nameless', file_of('nameless'), categories => '{"f1": ["no", "yes"]}', allow_change => true);
SELECT predict('nameless', 1, 'yes'::text);

-- Base margins, in place of the model's own.
SELECT predict('price@1', 60, 4, 1) AS own, predict_from('price@1', 1000, 60, 4, 1) AS given,
       predict_from('price@1', 1000, '{60,4,1}'::real[]) AS from_an_array;
SELECT predict_from('codes', 1, t) FROM (SELECT 8 AS code, 9 AS x) AS t;
SELECT predict_from('price', NULL, 60, 4, 1), predict_from(NULL, 1, 60, 4, 1);
SELECT predict_from('churn', 'NaN', 1, 1);
SELECT predict_from('targets', 1, 1, 0);
SELECT predict_from('price', 1, 60, 4);
EXPLAIN (COSTS OFF) SELECT predict_from('price', x, 60, 4, 1) FROM generate_series(1, 1000) AS x;
