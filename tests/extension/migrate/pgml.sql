-- The tables of pgml 2.10 that its models are in, as far as anything reads them.
CREATE SCHEMA pgml;
CREATE TYPE pgml.task AS ENUM ('regression', 'classification', 'clustering', 'decomposition', 'cluster');
CREATE TYPE pgml.runtime AS ENUM ('python', 'rust', 'openai');
CREATE TABLE pgml.projects (
    id bigserial PRIMARY KEY, name text NOT NULL, task pgml.task NOT NULL,
    created_at timestamp NOT NULL DEFAULT clock_timestamp(), updated_at timestamp NOT NULL DEFAULT clock_timestamp()
);
CREATE TABLE pgml.snapshots (
    id bigserial PRIMARY KEY, relation_name text NOT NULL, y_column_name text[], test_size float4 NOT NULL,
    status text NOT NULL, columns jsonb, analysis jsonb, created_at timestamp NOT NULL DEFAULT clock_timestamp(),
    updated_at timestamp NOT NULL DEFAULT clock_timestamp(), materialized boolean DEFAULT false
);
CREATE TABLE pgml.models (
    id bigserial PRIMARY KEY, project_id bigint NOT NULL, snapshot_id bigint, num_features integer NOT NULL,
    algorithm text NOT NULL, runtime pgml.runtime DEFAULT 'python', hyperparams jsonb NOT NULL, status text NOT NULL,
    metrics jsonb, search text, search_params jsonb NOT NULL DEFAULT '{}', search_args jsonb NOT NULL DEFAULT '{}',
    created_at timestamp NOT NULL DEFAULT clock_timestamp(), updated_at timestamp NOT NULL DEFAULT clock_timestamp()
);
CREATE TABLE pgml.deployments (
    id bigserial PRIMARY KEY, project_id bigint NOT NULL, model_id bigint NOT NULL, strategy text NOT NULL,
    created_at timestamp NOT NULL DEFAULT clock_timestamp()
);
CREATE TABLE pgml.files (
    id bigserial PRIMARY KEY, model_id bigint NOT NULL, path text NOT NULL, part integer NOT NULL,
    created_at timestamp NOT NULL DEFAULT clock_timestamp(), updated_at timestamp NOT NULL DEFAULT clock_timestamp(),
    data bytea NOT NULL
);
