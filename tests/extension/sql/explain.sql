-- Explanations of predictions: contributions, interactions, lines to read, and means over rows.
\pset null (null)
-- Two stumps whose halves have as many rows each: half of the difference, for or against; the bias is the mean.
SELECT predict_contribs('price', 60, 4, 1), predict_contribs('price', 40, 2, 1), predict_contribs('price', NULL, 4, NULL);
SELECT predict_interactions('price', 60, 4, 1);
-- All forms.
CREATE TABLE homes (id int, area real, rooms int, age real);
INSERT INTO homes VALUES (1, 60, 4, 1), (2, 40, 2, 9), (3, NULL, NULL, NULL), (4, 'NaN', 5, 'Infinity');
SELECT id, predict_contribs('price', area, rooms, age) AS columns, predict_contribs('price', h) = predict_contribs('price', area, rooms, age) AS row,
       predict_contribs('price', to_jsonb(h)) = predict_contribs('price', h) AS jsonb,
       predict_contribs('price', ARRAY[area, rooms, age]) = predict_contribs('price', h) AS array,
       predict_contribs('price@1', VARIADIC ARRAY[area, rooms, age]) = predict_contribs('price', h) AS variadic
  FROM homes AS h ORDER BY id;
SELECT predict_contribs('price', NULL::homes), predict_contribs('price', NULL::jsonb), predict_contribs('price', NULL::real[]), predict_contribs(NULL, 1, 2, 3);
-- They add up to the margin.
SELECT id, (SELECT sum(c) FROM unnest(predict_contribs('gaps', h.area, h.rooms)) AS c) - (predict_margin('gaps', h.area, h.rooms))[1] < 1e-5 AS contribs,
       (SELECT sum(c) FROM unnest(predict_interactions('gaps', h.area, h.rooms)) AS c) - (predict_margin('gaps', h.area, h.rooms))[1] < 1e-5 AS interactions
  FROM homes AS h ORDER BY id;
-- Categories: by name, and as codes.
SELECT predict_contribs('tickets', 'sat'::text, 20, 1) = predict_contribs('tickets', ARRAY[2, 1, 1]) AS same,
       array_length(predict_contribs('tickets', 'sat'::text, 20, 1), 1) AS numbers, (predict_contribs('tickets', 'sat'::text, 20, 1))[3] < 0 AS hours;
SELECT predict_contribs('tickets', 'doomsday'::text, 20, 1);
SET pgboost.unknown_category = missing;
SELECT predict_contribs('tickets', 'doomsday'::text, 20, 1) = predict_contribs('tickets', NULL, 20, 1) AS as_missing;
RESET pgboost.unknown_category;
-- Several outputs: the output is the first dimension.
SELECT array_dims(predict_contribs('flower', 1, 1)) AS classes, array_dims(predict_contribs('targets', 1, 1)) AS targets,
       array_dims(predict_interactions('price', 1, 1, 1)) AS pairs, array_dims(predict_interactions('flower', 1, 1)) AS pairs_of_classes;
SELECT predict_contribs('targets', 1, 1);
SELECT pg_typeof(predict_contribs('price', 1, 1, 1)), pg_typeof(predict_interactions('price', 1, 1, 1));

-- To read: the largest first, then what the others sum up to, and the bias.
SELECT e.* FROM homes AS h, explain_prediction('price', h) AS e WHERE id = 1;
SELECT e.* FROM homes AS h, explain_prediction('price', h, 1) AS e WHERE id = 2;
SELECT h.id, e.* FROM homes AS h, explain_prediction('price', h, top => 2) AS e ORDER BY id, abs(contribution) DESC, feature;
SELECT * FROM explain_prediction('price', ARRAY[60, 4, 1.50], top => 0);
SELECT * FROM explain_prediction('price', '{"area": 60.00, "rooms": null, "age": "NaN"}'::jsonb, top => NULL);
SELECT * FROM explain_prediction('price', NULL::jsonb);
SELECT * FROM explain_prediction(NULL, ARRAY[1, 2, 3]);
SELECT feature, value, contribution > 0 AS raises FROM explain_prediction('tickets', '{"weekday": "sat", "zone": 20, "hours": 1}'::jsonb);
SELECT feature, value FROM explain_prediction('price', ARRAY[3, 4, 5]::text[]::real[]);
SELECT e.feature, e.value FROM (SELECT 'Infinity'::float8 AS area, true AS rooms, '2024-02-29'::date AS age) AS v, explain_prediction('price', v) AS e;
-- A class or an output by its name: the label, or the number. Of several classes the predicted one, if none is named.
SELECT load_model('stay', file_of('churn'), labels => ARRAY['stays', 'leaves']);
SELECT o, e.feature, e.contribution FROM unnest(ARRAY[NULL, 'leaves', 'stays']) AS o, explain_prediction('stay', ARRAY[9, 1], output => o) AS e;
SELECT output, feature, contribution FROM unnest(ARRAY['0', '1']) AS output, explain_prediction('churn', ARRAY[9, 1], output => output);
SELECT predict_class('flower', 3, 1) AS predicted,
       (SELECT contribution FROM explain_prediction('flower', ARRAY[3, 1]) WHERE feature = 'length') = (predict_contribs('flower', 3, 1))[2][1] AS its_own,
       (SELECT contribution FROM explain_prediction('flower', ARRAY[3, 1], output => 'setosa') WHERE feature = 'length') = (predict_contribs('flower', 3, 1))[1][1] AS of_setosa;
SELECT o, e.* FROM unnest(ARRAY['0', '1']) AS o, explain_prediction('targets', ARRAY[1, 2], output => o) AS e;
SELECT * FROM explain_prediction('targets', ARRAY[1, 2]);
SELECT * FROM explain_prediction('targets', ARRAY[1, 2], output => '2');
SELECT * FROM explain_prediction('flower', ARRAY[1, 2], output => '0');
SELECT * FROM explain_prediction('price', ARRAY[1, 2, 3], output => 'price');
SELECT * FROM explain_prediction('price', ARRAY[1, 2, 3], top => -1);

-- Over many rows: an aggregate of what predict_contribs gives, whose elements model_features names.
SELECT mean_abs_contribs(predict_contribs('price', h)) FROM homes AS h WHERE id < 3;
SELECT feature, means[position] AS contribution
  FROM model_features('price'), (SELECT mean_abs_contribs(predict_contribs('price', h)) AS means FROM homes AS h WHERE id < 3) AS m ORDER BY 2 DESC;
SELECT id % 2 AS odd, mean_abs_contribs(predict_contribs('price', h)) FROM homes AS h GROUP BY 1 ORDER BY 1;
SELECT id, mean_abs_contribs(predict_contribs('price', h)) OVER (ORDER BY id ROWS 1 PRECEDING) FROM homes AS h ORDER BY id;
SELECT mean_abs_contribs(c) FROM unnest(ARRAY[NULL]::real[]) AS n, LATERAL (SELECT NULL::real[] AS c) AS s;
SELECT mean_abs_contribs(predict_contribs('targets', area, 1)) FROM homes WHERE id < 3;
SELECT mean_abs_contribs(c) FROM (VALUES ('{1, 2}'::real[]), ('{1, 2, 3}')) AS v (c);
SELECT mean_abs_contribs('{{1, 2}, {3, -4}}'), mean_abs_contribs('{{1, 2}, {3, NULL}}');
SELECT mean_abs_contribs('{}');
SELECT mean_abs_contribs('{{{1}}}');
-- Parts of the aggregate are not for calling.
SELECT pgboost_catalog.contribs_add('{1, 2, 3}', '{1}');
SELECT pgboost_catalog.contribs_combine('{1}', '{2}');
SELECT pgboost_catalog.contribs_mean('{1, 1, 0, 5}');

-- Errors as those of predict.
SELECT predict_contribs('nosuch', 1);
SELECT predict_contribs('price', 1);
SELECT predict_interactions('price', 1, 2);
SELECT * FROM explain_prediction('price', ROW(1, 2, 3));
CREATE ROLE regress_explain;
GRANT SELECT ON homes TO regress_explain;
SET ROLE regress_explain;
SELECT predict_contribs('price', 1, 2, 3);
SELECT * FROM explain_prediction('price', ARRAY[1, 2, 3]);
SELECT pgboost_catalog.contribs_add('{}', '{1}');
RESET ROLE;
SELECT grant_model('price', 'regress_explain');
SET ROLE regress_explain;
SELECT mean_abs_contribs(predict_contribs('price', h)) FROM homes AS h WHERE id < 3;
SELECT feature FROM explain_prediction('price', ARRAY[1, 2, 3]);
RESET ROLE;
-- Row-level security: of rows that the user may see.
ALTER TABLE homes ENABLE ROW LEVEL SECURITY;
CREATE POLICY first_home ON homes USING (id = 1);
SET ROLE regress_explain;
SELECT mean_abs_contribs(predict_contribs('price', h)), count(*) FROM homes AS h;
RESET ROLE;
DROP OWNED BY regress_explain;
DROP ROLE regress_explain;

-- A prepared statement goes with the deployed version.
PREPARE why AS SELECT feature, contribution FROM explain_prediction('price', ARRAY[60, 4, 1], top => 1);
EXECUTE why;
SELECT load_model('price', file_of('price_doubled'));
EXECUTE why;
SELECT predict_contribs('price', 60, 4, 1), predict_contribs('price@1', 60, 4, 1);
