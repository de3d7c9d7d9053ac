-- The models of PostgresML that from_pgml.sql loads, and what became of each.
CREATE TABLE IF NOT EXISTS pgml_model (
    project text NOT NULL,
    id bigint PRIMARY KEY,
    task text NOT NULL,
    runtime text NOT NULL,
    algorithm text NOT NULL,
    hyperparams jsonb,
    metrics jsonb,
    columns jsonb,
    deployed boolean NOT NULL,
    bytes bytea,
    model text,
    version integer,
    note text
);
COMMENT ON TABLE pgml_model IS 'models of PostgresML, the version of pgboost that each became, or why it did not';
