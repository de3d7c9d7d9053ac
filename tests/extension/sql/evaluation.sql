-- Metrics of a model on a table, a view or a query; baselines of features and their drift.
\pset null (null)
CREATE TABLE homes (id integer, area integer, rooms integer, age integer, price numeric, weight real, region text);
INSERT INTO homes VALUES
    (1, 40, 2, 1, 2, 1, 'north'), (2, 60, 2, 1, 100, 1, 'north'), (3, 60, 4, 1, 106, 2, 'south'),
    (4, 40, 4, 9, 10, 0, 'south'), (5, 40, 2, 9, NULL, 1, 'south'), (6, 60, 2, 9, 104, 4, NULL);
CREATE TABLE calls (id integer, calls integer, months integer, churned boolean, code integer, owner name);
INSERT INTO calls SELECT id, id, 5, id % 3 = 0, (id % 3 = 0)::integer, CASE WHEN id < 7 THEN 'regress_evaluation' END
    FROM generate_series(1, 12) AS id;
CREATE TABLE flowers (length integer, width integer, species text, place integer);
INSERT INTO flowers VALUES (1, 1, 'setosa', 0), (3, 1, 'versicolor', 1), (3, 2, 'setosa', 0), (5, 1, 'virginica', 2), (5, 2, 'versicolor', 1);

-- A number: errors of 2, 0, 4, 0 and 4; a row without a target is left out.
SELECT metric, round(value::numeric, 6) AS value, rows FROM evaluate_model('price', 'homes', 'price');
SELECT metric, round(value::numeric, 6) AS value FROM evaluate_model('price', 'homes', 'price', weight => 'weight');
SELECT slice, metric, value, rows FROM evaluate_model('price', 'homes', 'price', slice_by => 'region') WHERE metric IN ('mae', 'r2');
SELECT metric, value FROM evaluate_model('price', 'SELECT * FROM homes WHERE id < 3 -- the first', 'price') WHERE metric = 'mse';

-- Two classes: by boolean, by number.
SELECT metric, round(value::numeric, 6) AS value FROM evaluate_model('churn', 'calls', 'churned');
SELECT (SELECT array_agg(value) FROM evaluate_model('churn', 'calls', 'code'))
     = (SELECT array_agg(value) FROM evaluate_model('churn', 'calls', 'churned')) AS same;
-- The aggregates say the same of predictions.
SELECT round(logloss(p, churned)::numeric, 6) AS logloss, round(auc(p, code)::numeric, 6) AS auc, round(aucpr(p, churned)::numeric, 6) AS aucpr,
       round(brier(p, churned)::numeric, 6) AS brier, accuracy(p > 0.5, churned), accuracy(class, code::text) AS of_labels
    FROM (SELECT *, predict('churn', c) AS p, predict_class('churn', c) AS class FROM calls AS c) AS c;
SELECT region, round(rmse(predict('price', h), price)::numeric, 6) AS rmse, mse(predict('price', h), price), mae(predict('price', h), price),
       mape(predict('price', h), price), mae(predict('price', h), price) FILTER (WHERE age < 5) AS young, round(r2(predict('price', h), price, weight)::numeric, 6) AS r2
    FROM homes AS h GROUP BY region ORDER BY region;
SELECT round(mlogloss(predict_array('flower', f), place)::numeric, 6) AS mlogloss, accuracy(predict_class('flower', f), species) FROM flowers AS f;
SELECT mae(predict('price', h), price), auc(area, age > 5) FROM homes AS h WHERE false;
-- One class alone has no ROC curve.
SELECT metric, value FROM evaluate_model('churn', 'SELECT * FROM calls WHERE NOT churned', 'churned') WHERE metric LIKE 'auc%';

-- Several classes: by label, by number where there are no labels.
SELECT metric, round(value::numeric, 6) AS value FROM evaluate_model('flower', 'flowers', 'species');
SELECT metric, round(value::numeric, 6) AS value FROM evaluate_model('flower_class', 'flowers', 'place');

-- Features without names are f0, f1 and so on; categories are read as predict reads them.
SELECT metric, value FROM evaluate_model('nameless', 'SELECT 1 AS f0, 1 AS f1, 10 AS y', 'y') WHERE metric = 'mae';
SELECT metric, value FROM evaluate_model('tickets', $$SELECT 'sat' AS weekday, 20 AS zone, 1 AS hours, 3 AS y$$, 'y') WHERE metric = 'mae';
SELECT * FROM evaluate_model('tickets', $$SELECT 'day' AS weekday, 20 AS zone, 1 AS hours, 3 AS y$$, 'y');
SET pgboost.unknown_category = missing;
SELECT metric, value FROM evaluate_model('tickets', $$SELECT 'day' AS weekday, 20 AS zone, 1 AS hours, 3 AS y$$, 'y') WHERE metric = 'mae';
RESET pgboost.unknown_category;

-- Two models on the same rows.
SELECT metric, baseline_value, candidate_value, difference, round(ci_lower::numeric, 3) AS ci_lower, round(ci_upper::numeric, 3) AS ci_upper, better_rows, worse_rows, verdict
    FROM compare_models('price', 'price_doubled', 'homes', 'price');
SELECT load_model('churn', file_of('churn'), labels => ARRAY['stays', 'leaves'], allow_change => true);
SELECT * FROM compare_models('churn@1', 'churn@2', 'calls', 'churned');
SELECT * FROM compare_models('churn@1', 'churn@1', 'calls', 'churned') WHERE metric <> 'logloss';
SELECT * FROM compare_models('price', 'churn', 'homes', 'price');
-- The labels of version 2 are no numbers, so 0 and 1 are the places of the classes.
SELECT metric, round(value::numeric, 6) AS value FROM evaluate_model('churn@2', 'calls', 'code') WHERE metric = 'error';

-- Calls that are refused.
SELECT * FROM evaluate_model('nosuch', 'homes', 'price');
SELECT * FROM evaluate_model('price', 'nosuch', 'price');
SELECT * FROM evaluate_model('price', 'homes', 'prise');
SELECT * FROM evaluate_model('price', 'calls', 'churned');
SELECT * FROM evaluate_model('price', 'homes', 'region');
SELECT * FROM evaluate_model('price', 'homes', 'price', weight => 'region');
SELECT * FROM evaluate_model('price', 'SELECT *, -1 AS less FROM homes', 'price', weight => 'less');
SELECT * FROM evaluate_model('price', 'SELECT *, NULL::integer AS gone FROM homes', 'price', weight => 'gone');
SELECT * FROM evaluate_model('price', 'SELECT *, area FROM homes', 'price');
SELECT * FROM evaluate_model('price', 'SELECT * FROM homes WHERE id > 9', 'price');
SELECT * FROM evaluate_model('price', 'SELECT * FROM homes WHERE id = 5', 'price');
SELECT * FROM evaluate_model('price', 'SELECT 1; SELECT 2', 'price');
SELECT * FROM evaluate_model('price', 'WITH gone AS (DELETE FROM homes RETURNING *) SELECT * FROM gone', 'price');
SELECT * FROM evaluate_model('price', 'homes', 'price', qid => 'region');
SELECT * FROM evaluate_model('price', 'homes', 'price', quantile_alpha => '{0.1,0.9}');
SELECT * FROM evaluate_model('price', 'homes', NULL);
SELECT * FROM evaluate_model('targets', 'SELECT 1 AS x, 1 AS y, 1 AS z', 'z');
SELECT * FROM evaluate_model('flower', 'SELECT *, $$rose$$ AS kind FROM flowers', 'kind');
SELECT * FROM evaluate_model('flower_class', 'flowers', 'species');
SELECT * FROM evaluate_model('flower_class', 'SELECT *, 3 AS kind FROM flowers', 'kind');
SELECT rmse(predict('price', h), 'many') FROM homes AS h;
SELECT logloss(predict('price', h), true) FROM homes AS h;

SET work_mem = '64kB';
SELECT * FROM evaluate_model('price', 'SELECT id AS part, 40 AS area, 2 AS rooms, 1 AS age, 0 AS price FROM generate_series(1, 2000) AS id',
                             'price', slice_by => 'part');
RESET work_mem;

-- With the caller's rights: to the model, to the columns in use, to rows.
CREATE ROLE regress_evaluation;
SET ROLE regress_evaluation;
SELECT * FROM evaluate_model('churn@1', 'calls', 'churned');
RESET ROLE;
SELECT grant_model('churn', 'regress_evaluation');
SET ROLE regress_evaluation;
SELECT * FROM evaluate_model('churn@1', 'calls', 'churned');
RESET ROLE;
GRANT SELECT (calls, months, churned, owner) ON calls TO regress_evaluation;
SET ROLE regress_evaluation;
SELECT metric, rows FROM evaluate_model('churn@1', 'calls', 'churned') WHERE metric = 'error';
SELECT * FROM evaluate_model('churn@1', 'calls', 'code');
SELECT * FROM compare_models('churn@1', 'price', 'calls', 'churned');
RESET ROLE;
ALTER TABLE calls ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON calls USING (owner = current_user);
SET ROLE regress_evaluation;
SELECT metric, rows FROM evaluate_model('churn@1', 'calls', 'churned') WHERE metric = 'error';
SELECT count(*), accuracy(predict_class('churn@1', calls, months), churned::integer::text) FROM calls;
SELECT better_rows + worse_rows AS changed FROM compare_models('churn@1', 'churn@1', 'calls', 'churned') WHERE metric = 'changed';
RESET ROLE;

-- No function or operator of another schema takes part.
CREATE SCHEMA attack;
CREATE FUNCTION attack.predict(text, VARIADIC "any") RETURNS real LANGUAGE internal AS 'pg_typeof';
SET search_path = attack, public;
SELECT metric, rows FROM evaluate_model('churn@1', 'calls', 'churned') WHERE metric = 'error';
RESET search_path;
DROP TABLE homes, calls, flowers;
DROP OWNED BY regress_evaluation;
DROP ROLE regress_evaluation;

-- Baselines of features and their drift: privileges, errors, transactions.
CREATE TABLE homes (area integer, rooms integer, age integer);
INSERT INTO homes SELECT 40 + id % 3, id % 5, NULLIF(id % 10, 9) FROM generate_series(1, 100) AS id;
CREATE TABLE visits (weekday text, zone integer, hours integer);
INSERT INTO visits SELECT (ARRAY['mon', 'tue', 'sun'])[1 + id % 3], 10, id % 7 FROM generate_series(1, 90) AS id;

SELECT set_baseline('price', 'homes');
SELECT feature, rows, missing, quantiles FROM feature_baseline('price');
SELECT feature, round(psi::numeric, 6) AS psi, ks, p_value, baseline_missing, missing FROM feature_drift('price', 'homes');
SELECT feature, round(psi::numeric, 4) AS psi, round(ks::numeric, 4) AS ks, round(p_value::numeric, 4) AS p_value, missing
    FROM feature_drift('price', 'SELECT area + 1 AS area, rooms, 1 AS age FROM homes');

-- Categories, also such that the model was not trained on, are texts or what is written for a number.
SELECT set_baseline('tickets', 'visits');
SELECT feature, quantiles, categories, shares FROM feature_baseline('tickets');
SELECT feature, round(psi::numeric, 4) AS psi, ks FROM feature_drift('tickets', $$SELECT 'day' AS weekday, 10 AS zone, 3 AS hours$$);

-- Each version has its own profile; without one there is no drift to report.
SELECT load_model('price', file_of('price'));
SELECT count(*) FROM feature_baseline('price');
SELECT * FROM feature_drift('price', 'homes');
SELECT count(*) FROM feature_drift('price@1', 'homes');
BEGIN;
SELECT set_baseline('price', 'SELECT 1 AS area, 2 AS rooms, 3 AS age');
ROLLBACK;
SELECT count(*) FROM feature_baseline('price');

-- Invalid sources.
SELECT set_baseline('price', 'SELECT 1 AS area, 2 AS rooms');
SELECT set_baseline('price', $$SELECT 1 AS area, 2 AS rooms, 'old' AS age$$);
SELECT set_baseline('price', 'SELECT * FROM homes WHERE area > 99');
SELECT set_baseline('price', NULL);
SELECT * FROM feature_drift('price@1', 'nosuch');
-- Invalid baselines, and a valid one.
BEGIN;
DO $$
DECLARE
    others text := '{"feature": "rooms", "rows": 2, "missing": 2, "numbers": [], "below": [], "upto": []}, '
                   '{"feature": "age", "rows": 2, "missing": 2, "categories": [], "shares": []}';
    one text;
BEGIN
    FOREACH one IN ARRAY ARRAY[
        '"rows": 1, "missing": 2, "numbers": [], "below": [], "upto": []',
        '"rows": 0, "missing": 0, "numbers": [], "below": [], "upto": []',
        '"rows": 9223372036854775808, "missing": 0, "numbers": [], "below": [], "upto": []',
        '"rows": 2, "missing": 0, "numbers": [1, 2], "below": [0], "upto": [0.5, 1]',
        '"rows": 2, "missing": 0, "numbers": [1, 2], "below": [0, 0.5], "upto": [0.5]',
        '"rows": 2, "missing": 0, "numbers": [2, 1], "below": [0, 0.5], "upto": [0.5, 1]',
        '"rows": 2, "missing": 0, "categories": ["a", "b"], "shares": [1]',
        '"rows": 2, "missing": 0, "categories": ["a", "b"], "shares": [1, 2]',
        '"rows": 2, "missing": 0',
        '"rows": 2, "missing": 0, "numbers": [1, 2], "below": [0, 0.5], "upto": [0.5, 1]']
    LOOP
        BEGIN
            PERFORM set_baseline('price', format('[{"feature": "area", %s}, %s]', one, others)::jsonb);
            RAISE NOTICE 'accepted: %', one;
        EXCEPTION WHEN invalid_parameter_value THEN
        END;
    END LOOP;
END $$;
SELECT feature, rows, missing, quantiles FROM feature_baseline('price');
ROLLBACK;

-- Only the owner records; who may predict may look; the source is read with the caller's rights, and by its policies.
CREATE ROLE regress_drift;
SET ROLE regress_drift;
SELECT * FROM feature_baseline('price@1');
RESET ROLE;
SELECT grant_model('price', 'regress_drift');
SET ROLE regress_drift;
SELECT count(*) FROM feature_baseline('price@1');
SELECT count(*) FROM feature_drift('price@1', 'SELECT 1 AS area, 2 AS rooms, 3 AS age');
RESET ROLE;
SELECT grant_model('price', 'regress_drift', 'inspect');
SET ROLE regress_drift;
SELECT count(*) FROM feature_baseline('price@1');
SELECT set_baseline('price', 'SELECT 1 AS area, 2 AS rooms, 3 AS age');
SELECT set_baseline('price', '[]'::jsonb);
SELECT * FROM feature_drift('price@1', 'homes');
SELECT * FROM pgboost_catalog.baseline;
RESET ROLE;
GRANT SELECT ON homes TO regress_drift;
ALTER TABLE homes ENABLE ROW LEVEL SECURITY;
CREATE POLICY old ON homes USING (age IS NULL);
SET ROLE regress_drift;
SELECT feature, missing FROM feature_drift('price@1', 'homes');
RESET ROLE;
DROP TABLE homes, visits;
DROP OWNED BY regress_drift;
DROP ROLE regress_drift;
