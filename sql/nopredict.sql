-- predict.sql without predict: the same row, and one real of it.
SELECT depdelayminutes FROM flights WHERE originairportid = 14869 AND year = 2019 AND month = 8 AND dayofmonth = 31 LIMIT 1;
