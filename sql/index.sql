-- What the one-row query looks flights up by.
CREATE INDEX flights_by_origin_and_day
    ON flights USING btree (originairportid, year, month, dayofmonth);
