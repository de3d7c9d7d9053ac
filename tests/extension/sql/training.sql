-- Training in SQL beyond train_model: further rounds, cross-validation, a search, columns of arrays.
SET client_min_messages = warning;
CREATE EXTENSION pgboost_train;
\set VERBOSITY terse
CREATE TABLE points AS SELECT i AS a, i % 7 AS b, (i % 4)::text AS c, i % 10 + i % 7 AS y, i % 3 AS part
    FROM generate_series(1, 210) AS i;

-- Further rounds.
SELECT set, metric, best_round FROM train_model('m', 'SELECT a, b, c, y FROM points', 'y', rounds => 3);
SELECT set, metric, best_round FROM train_model('m', 'points', 'y', rounds => 2, continue_from => 'm@1');
SELECT version, rounds, parameters ->> 'continue_from' AS continued
    FROM (SELECT (model_info(name || '@' || version)) AS i, * FROM pgboost_models WHERE name = 'm') AS m,
         LATERAL (SELECT i -> 'parameters' AS parameters) AS p ORDER BY version;
SELECT train_model('m', 'points', 'y', '{"objective": "reg:gamma"}', continue_from => 'm');
SELECT train_model('m', 'points', 'y', continue_from => 'm@7');
SELECT train_model('m', 'SELECT a, b, ''9'' AS c, y FROM points', 'y', continue_from => 'm');

-- Cross-validation.
SELECT round, metric, round(train_mean::numeric, 2) AS train, round(eval_mean::numeric, 2) AS eval,
       eval_std > 0 AS spread, cardinality(eval) AS folds
    FROM cross_validate_model('points', 'y', '{"nthread": 1, "eval_metric": ["rmse", "mae"]}', rounds => 2,
                              fold_by => 'part', features => '{a,b,c}');
SELECT count(*), max(cardinality(eval)) FROM cross_validate_model('points', 'c', rounds => 2, stratified => true);
SELECT * FROM cross_validate_model('points', 'y', folds => 1);
SELECT * FROM cross_validate_model('points', 'y', folds => 3, fold_by => 'part');
SELECT * FROM cross_validate_model('points', 'y', stratified => true);

-- A search.
SELECT trial, best, metric, best_round, eval > 0 AS eval, eval_std, params
    FROM tune_model('points', 'y', '{"max_depth": [1, 4], "eta": [0.1, 0.5]}', '{"nthread": 1}', rounds => 4,
                    eval_fraction => 0.3);
SELECT * FROM tune_model('points', 'y', '{"eta": {"min": 0.1, "max": 0.9}}');
SELECT * FROM tune_model('points', 'y', '{"objective": ["reg:gamma"]}');
SELECT * FROM tune_model('points', 'y', '{"eta": [0.1]}', '{"eta": 0.2}');

-- Arrays.
CREATE TABLE images AS SELECT i AS id, ARRAY[i % 5, i % 3, NULL]::real[] AS image, i % 5 > 2 AS bright
    FROM generate_series(1, 100) AS i;
SELECT set, metric FROM train_model('bright', 'images', 'bright', rounds => 5, features => '{image}');
SELECT feature, type FROM model_features('bright');
SELECT predict_class('bright', i) AS by_row, predict_class('bright', image) AS by_array, bright FROM images AS i LIMIT 5;
\set VERBOSITY default
INSERT INTO images VALUES (101, '{1,2}', false);
SELECT train_model('bright', 'images', 'bright', features => '{image}');
SELECT predict('bright', i) FROM images AS i WHERE id = 101;
\set VERBOSITY terse

-- PUBLIC may do none of it.
CREATE ROLE regress_train;
GRANT SELECT ON points TO regress_train;
SET ROLE regress_train;
SELECT train_model('m', 'points', 'y', continue_from => 'm');
SELECT cross_validate_model('points', 'y');
SELECT tune_model('points', 'y', '{"eta": [0.1]}');
RESET ROLE;
DROP OWNED BY regress_train;
DROP ROLE regress_train;
