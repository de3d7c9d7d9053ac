-- The forms that features come in: columns, an array, a row, a jsonb object.
\pset null (null)

-- Columns of every numeric type, and mixed. All lines give 110.
SELECT predict('price', 60::smallint, 4::smallint, 1::smallint) AS int2,
       predict('price', 60, 4, 1) AS int4,
       predict('price', 60::bigint, 4::bigint, 1::bigint) AS int8,
       predict('price', 60::real, 4::real, 1::real) AS float4,
       predict('price', 60::float8, 4::float8, 1::float8) AS float8,
       predict('price', 60.5, 4.25, 1.0) AS numeric,
       predict('price', 60.5::real, 4::bigint, false) AS mixed;
SELECT predict('nameless', true, false), predict('nameless', false, true);

-- Negative and extreme values, and what no number can be.
SELECT predict('price', -60::smallint, (-32768)::smallint, 1::smallint) AS int2,
       predict('price', '-2147483648'::int, 4, 1) AS int4,
       predict('price', '-9223372036854775808'::bigint, 9223372036854775807, 1) AS int8,
       predict('price', '-infinity'::real, 'infinity'::real, 'nan'::real) AS float4,
       predict('price', '1e300'::float8, '-1e300'::float8, 0) AS float8;
SELECT predict('gaps', x, 1) FROM (VALUES (4.9::numeric), (5), (17.99), (18), ('1e1000'), ('-1e1000'),
                                          ('Infinity'), ('-Infinity'), ('NaN'), (NULL)) AS v (x);
-- 49.999999999 rounds to 50 as a real, which is not below 50; so does 16777217 to 16777216.
SELECT predict('price', 49.999999999::float8, 1, 1) AS float8, predict('price', 49.999999999, 1, 1) AS numeric,
       predict('price', 49.9999::float8, 1, 1) AS below;

-- Dates and timestamps are seconds since 1970: 0, 4.9, 5, 17.5 and 18, a day before, a day after, the ends of time.
SELECT predict('gaps', '1970-01-01'::date, 1) AS date,
       array_agg(predict('gaps', ('1970-01-01 00:00'::timestamp + make_interval(secs => s)), 1)) AS timestamp,
       array_agg(predict('gaps', ('1970-01-01 00:00+00'::timestamptz + make_interval(secs => s)), 1)) AS timestamptz
  FROM unnest(ARRAY[0, 4.9, 5, 17.5, 18]) AS s;
SELECT predict('gaps', ARRAY['1970-01-01', '1970-01-02']::date[]) AS dates, predict('gaps', ARRAY['1970-01-01 00:00:05', NULL]::timestamp[]) AS timestamps;
SELECT predict('gaps', '1969-12-31'::date, 1) AS before, predict('gaps', '1970-01-02'::date, 1) AS after,
       predict('gaps', '-infinity'::date, 1) AS first, predict('gaps', 'infinity'::date, 1) AS last,
       predict('gaps', '-infinity'::timestamp, 1) AS first_time, predict('gaps', 'infinity'::timestamptz, 1) AS last_time;

-- NULL is missing, whatever its type; so is NaN.
SELECT predict('gaps', NULL::real, 1) AS null_real, predict('gaps', NULL::int, 1) AS null_int,
       predict('gaps', NULL::numeric, 1) AS null_numeric, predict('gaps', NULL, 1) AS null_of_no_type,
       predict('gaps', 'nan'::float8, 1) AS nan, predict('gaps', NULL, NULL) AS both;
-- Only a NULL model gives NULL.
SELECT predict(NULL, 1, 2), predict_array(NULL, 1), predict_class(NULL, 1), predict_margin(NULL, 1), predict_leaf(NULL, 1);

-- Arrays of every type.
SELECT predict('price', ARRAY[60, 4, 1]::real[]) AS real, predict('price', ARRAY[60, 4, 1]::float8[]) AS float8,
       predict('price', ARRAY[60, 4, 1]::smallint[]) AS int2, predict('price', ARRAY[60, 4, 1]) AS int4,
       predict('price', ARRAY[60, 4, 1]::bigint[]) AS int8, predict('price', ARRAY[60, 4, 1]::numeric[]) AS numeric,
       predict('nameless', ARRAY[true, false]) AS bool;
SELECT predict('gaps', ARRAY[NULL, 1]::real[]) AS real, predict('gaps', ARRAY[NULL, 1]::numeric[]) AS numeric,
       predict('gaps', ARRAY[NULL, NULL]::int[]) AS all_null, predict('gaps', NULL::real[]) AS null_array,
       predict('gaps', ARRAY['NaN', 1]::real[]) AS nan;
-- Lower bounds do not matter, slices and computed arrays do as well.
SELECT predict('price', '[5:7]={60,4,1}'::real[]) AS bounds, predict('price', (ARRAY[9, 60, 4, 1])[2:]) AS slice,
       predict('price', array_agg(x ORDER BY i)) AS aggregate FROM (VALUES (1, 60.0), (2, 4), (3, 1)) AS v (i, x);
-- VARIADIC, in which PostgreSQL hands over one array.
SELECT predict('price', VARIADIC ARRAY[60, 4, 1]), predict('gaps', VARIADIC ARRAY[NULL, 1]::numeric[]);
SELECT predict('price', VARIADIC NULL::real[]) AS null_array, predict(model => 'price', VARIADIC features => ARRAY[60, 4, 1]::real[]) AS by_name;
-- An array in a table, long enough to be compressed and stored out of line, is read whole.
CREATE TABLE vectors (id int, v real[]);
ALTER TABLE vectors ALTER v SET STORAGE EXTERNAL;
INSERT INTO vectors VALUES (1, ARRAY[60, 2, 1]), (2, NULL), (3, ARRAY[NULL, 4, NULL]), (4, array_fill(0::real, ARRAY[3000]));
SELECT id, predict('price', v) FROM vectors WHERE id < 4 ORDER BY id;
SELECT predict('price', v) FROM vectors WHERE id = 4;

-- Wrong arrays.
SELECT predict('price', ARRAY[60, 4]);
SELECT predict('price', ARRAY[60, 4, 1, 0]::numeric[]);
SELECT predict('price', '{}'::real[]);
SELECT predict('price', '{}'::int[]);
SELECT predict('price', ARRAY[[60, 4, 1]]);
SELECT predict('price', ARRAY[[60, 4, 1], [60, 4, 1]]::real[]);
SELECT predict('price', ARRAY['60', '4', '1']);
SELECT predict('price', ARRAY['10:00']::time[]);
SELECT predict('price', VARIADIC ARRAY['60', '4', '1']);

-- Wrong columns.
SELECT predict('price', 60, 4);
SELECT predict('price', 60, 4, 1, 0);
\set VERBOSITY sqlstate
SELECT predict('price');
\set VERBOSITY default
SELECT predict('price', '60', 4, 1);
SELECT predict('price', 60, TIME '10:00', 1);
SELECT predict('nameless', 60, interval '1 day');
SELECT predict('price', 60, 4, ARRAY[1]);
SELECT predict('price', 60, 4, '1'::json);
SELECT predict('price', interval '1 day');

-- A domain is read as its base type.
CREATE DOMAIN positive AS numeric CHECK (VALUE > 0);
CREATE DOMAIN more_positive AS positive;
CREATE DOMAIN vector AS real[] CHECK (cardinality(VALUE) = 3);
CREATE DOMAIN amount AS real;
SELECT predict('price', 60::positive, 4::more_positive, 1), predict('price', ARRAY[60, 4, 1]::vector),
       predict('price', ARRAY[60, 4, 1]::positive[]), predict('price', ARRAY[60, 4, 1]::amount[]);

-- Through a prepared statement, whose parameters have the types that it declares.
PREPARE columns (real, int, numeric) AS SELECT predict('price', $1, $2, $3);
EXECUTE columns (60, 4, 1);
EXECUTE columns (NULL, 4, NULL);
PREPARE array_of (numeric[]) AS SELECT predict('price', $1);
EXECUTE array_of ('{60,4,1}');
PREPARE model_of (text) AS SELECT predict($1, 60, 4, 1);
EXECUTE model_of ('price');
EXECUTE model_of ('price_doubled');
EXECUTE model_of (NULL);

-- The model's name from a column, of more than one type.
SELECT m, predict(m, 60, 4, 1) FROM (VALUES ('price'), ('price_doubled'), ('price@1'), (NULL), ('price')) AS v (m);
SELECT predict('price'::varchar, 60, 4, 1), predict('price'::name, 60, 4, 1), predict('price'::char(9), 60, 4, 1);

-- As many arguments as PostgreSQL allows: 100 with the model's name.
SELECT format('SELECT predict(''price'', %s)', string_agg('1', ', ')) FROM generate_series(1, 99) \gexec
SELECT format('SELECT predict(''price'', %s)', string_agg('1', ', ')) FROM generate_series(1, 100) \gexec

-- In every place of a query where an expression may stand.
CREATE TABLE homes (id int, area real, rooms int, age numeric);
INSERT INTO homes VALUES (1, 40, 2, 1), (2, 60, 2, 1), (3, 60, 4, NULL), (4, NULL, 4, 1);
SELECT id FROM homes WHERE predict('price', area, rooms, age) > 50 ORDER BY predict('price', area, rooms, age) DESC, id;
SELECT predict('price', area, rooms, age), count(*) FROM homes GROUP BY 1 ORDER BY 1;
SELECT id, sum(predict('price', area, rooms, age)) OVER (ORDER BY id) FROM homes ORDER BY id;
SELECT h.id, p FROM homes AS h, LATERAL predict('price', h.area, h.rooms, h.age) AS p ORDER BY h.id;
SELECT CASE WHEN predict('price', 60, 4, 1) > 50 THEN predict('churn', 1, 1) ELSE predict('nosuch', 1) END;
