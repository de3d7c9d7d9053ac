-- The benchmark's table: a delay to learn and ten features. Features come in the
-- order in which the models were trained.
--
-- Features are NOT NULL, as in the benchmark. pgboost does not need that: a NULL
-- is a missing value, as NaN is to XGBoost. To try it:
--     ALTER TABLE flights ALTER COLUMN distance DROP NOT NULL;
-- or load with `python -m data.load --missing 0.1`, which does so for every feature.
CREATE TABLE flights (
    depdelayminutes real,
    year real NOT NULL,
    quarter real NOT NULL,
    month real NOT NULL,
    distance real NOT NULL,
    dayofweek real NOT NULL,
    dayofmonth real NOT NULL,
    flight_number_operating_airline real NOT NULL,
    originairportid real NOT NULL,
    destairportid real NOT NULL,
    tail_number real NOT NULL
);
