-- Features as one jsonb object, matched to the model's feature names.
\pset null (null)
SELECT predict('price', '{"rooms": 4, "area": 60, "age": 1}'::jsonb) AS plain,
       predict('price', '{"rooms": 4, "area": 60, "age": 1, "city": "Z", "more": [1, {}]}'::jsonb) AS with_more,
       predict('price', jsonb_build_object('area', 60.5, 'rooms', 1e1, 'age', -0.0)) AS built;
SELECT predict('gaps', '{"x": null, "y": 1}'::jsonb) AS json_null, predict('gaps', '{"x": null, "y": null}'::jsonb) AS all_null,
       predict('gaps', NULL::jsonb) AS sql_null;
SELECT predict('price', '{"area": true, "rooms": 4, "age": false}'::jsonb) AS boolean,
       predict('price', '{"area": 1e400, "rooms": -1e400, "age": 0}'::jsonb) AS huge;
SELECT predict('price', to_jsonb(h)) FROM (SELECT 60 AS area, 4 AS rooms, 1 AS age) AS h;

-- NaN and infinities as to_jsonb writes them, for numbers and for codes of categories.
SELECT predict('gaps', r) = predict('gaps', to_jsonb(r)) AS same, predict('gaps', to_jsonb(r)), to_jsonb(r)
  FROM (VALUES ('NaN'::real, 1::numeric), ('Infinity', 'Infinity'), ('-Infinity', 'NaN')) AS r (x, y);
SELECT predict('codes', jsonb_object_agg(feature, 'NaN')) FROM model_features('codes');
SELECT predict('price', '{"area": "nan", "rooms": 4, "age": 1}'::jsonb);

-- From a table, with objects that differ from row to row.
CREATE TABLE documents (id int, body jsonb);
INSERT INTO documents VALUES (1, '{"area": 60, "rooms": 2, "age": 1}'), (2, '{"age": null, "rooms": 4, "area": 40, "x": {}}'),
    (3, NULL), (4, jsonb_build_object('area', 60, 'rooms', 4, 'age', 1, 'text', repeat('long ', 3000)));
SELECT id, predict('price', body) FROM documents ORDER BY id;
SELECT id, predict('price', body -> 'inner') FROM (SELECT id, jsonb_build_object('inner', body) FROM documents WHERE id <> 3) AS v (id, body) ORDER BY id;

-- Keys are text: no case folding, no blanks trimmed, any characters.
SELECT load_model('odd', file_of('price'), feature_names => ARRAY['Größe in m²', 'a "b" c', '👍']);
SELECT predict('odd', '{"Größe in m²": 60, "a \"b\" c": 4, "👍": 1}'::jsonb);
SELECT predict('odd', r) FROM (SELECT 60 AS "Größe in m²", 4 AS "a ""b"" c", 1 AS "👍") AS r;
SELECT predict('odd', '{"größe in m²": 60, "a \"b\" c": 4, "👍": 1}'::jsonb);

-- Wrong objects.
SELECT predict('price', '{"area": 60, "rooms": 4}'::jsonb);
SELECT predict('price', '{}'::jsonb);
SELECT predict('price', '{"area": 60, "rooms": "4", "age": 1}'::jsonb);
SELECT predict('price', '{"area": 60, "rooms": [4], "age": 1}'::jsonb);
SELECT predict('price', '{"area": 60, "rooms": {}, "age": 1}'::jsonb);
SELECT predict('price', '[60, 4, 1]'::jsonb);
SELECT predict('price', '60'::jsonb);
SELECT predict('price', '"area"'::jsonb);
SELECT predict('price', 'null'::jsonb);
SELECT predict('nameless', '{"f0": 1, "f1": 1}'::jsonb);
SELECT predict('price', '{"area": 60, "rooms": 4, "age": 1}'::json);

-- Objects of the same keys and of others in turn, some of more keys than one stride of the format has, and
-- keys that differ in their text alone.
CREATE TABLE objects AS
    SELECT i AS id, jsonb_build_object('area', i % 100 / 2.0, 'rooms', i % 7, 'age', NULL) || others.o AS o
      FROM generate_series(1, 2000) AS i,
           LATERAL (SELECT jsonb_object_agg(chr(97 + i / 100 % 3) || repeat('k', j % 9) || j, CASE j % 4 WHEN 0 THEN to_jsonb(j / 3.0)
                        WHEN 1 THEN to_jsonb(repeat('v', j)) WHEN 2 THEN 'true' ELSE '[1, {"a": 2}]' END) AS o
                      FROM generate_series(1, CASE WHEN i < 1000 THEN i % 3 ELSE i / 20 END + 1) AS j) AS others;
ANALYZE objects;
SELECT sum(predict('price', o)), sum(predict('price', (o ->> 'area')::numeric, (o ->> 'rooms')::int, NULL::int)) FROM objects;
SELECT count(*) FROM (SELECT predict('price', o) AS p, predict('price', (o ->> 'area')::numeric, (o ->> 'rooms')::int, NULL::int) AS expected
    FROM objects) AS f WHERE p IS DISTINCT FROM expected;
SELECT predict('price', CASE WHEN id % 2 = 0 THEN o ELSE o - 'area' END) FROM objects WHERE id < 3 ORDER BY id DESC;
SELECT predict('price', CASE WHEN id % 2 = 0 THEN o ELSE '{}' END) FROM objects WHERE id < 3 ORDER BY id DESC;
DROP TABLE objects;
