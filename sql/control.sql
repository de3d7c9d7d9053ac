-- The control for predict.sql: the same row and columns, the cheapest function of ten arguments.
SELECT array_length(ARRAY[year, quarter, month, distance, dayofweek, dayofmonth, flight_number_operating_airline, originairportid, destairportid, tail_number], 1) FROM flights WHERE originairportid = 14869 AND year = 2019 AND month = 8 AND dayofmonth = 31 LIMIT 1;
