-- From nothing to a first prediction. Run it in the folder of your model.ubj or model.json,
-- with the columns of your table in place of the flights':
--     psql -f quickstart.sql yourdatabase
CREATE EXTENSION pgboost;

-- psql reads the file on the client's machine, and sends it as text of base 64.
\set model `base64 < model.ubj | tr -d '\n'`
SELECT load_model('flights', decode(:'model', 'base64'));
-- A superuser, or a member of pg_read_server_files, may instead name a file of the server's:
--     SELECT load_model('flights', pg_read_binary_file('/srv/models/model.ubj'));

-- Columns in the order of training,
SELECT predict('flights', year, quarter, month, distance, dayofweek, dayofmonth,
               flight_number_operating_airline, originairportid, destairportid, tail_number)
FROM flights LIMIT 5;

-- or the row, whose columns are found by the model's own feature names.
SELECT f.*, predict('flights', f) AS predicted_delay FROM flights f LIMIT 5;
