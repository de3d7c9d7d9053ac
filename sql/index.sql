-- The index of the one-row query.
CREATE INDEX flights_by_origin_and_day
    ON flights USING btree (originairportid, year, month, dayofmonth);
