-- Baselines of features and their drift: privileges, errors, transactions.
\pset null (null)
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
SELECT set_baseline('price', '[{"feature": "area", "rows": 1, "missing": 2, "numbers": [], "below": [], "upto": []}]'::jsonb);

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
