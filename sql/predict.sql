-- pgbench's one-row query: look a flight up, predict its delay.
SELECT predict('flights', year, quarter, month, distance, dayofweek, dayofmonth, flight_number_operating_airline, originairportid, destairportid, tail_number) FROM flights WHERE originairportid = 14869 AND year = 2019 AND month = 8 AND dayofmonth = 31 LIMIT 1;
