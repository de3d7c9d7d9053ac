-- Initializes a new cluster: the database and its owner, the role of standbys, both extensions, and the owner's right to load and train models.
\getenv password PGBOOST_PASSWORD
-- A statement with the password in it is not for the log, even where it fails.
SET log_statement = 'none';
SET log_min_error_statement = 'panic';
CREATE ROLE flights LOGIN PASSWORD :'password';
CREATE ROLE standby LOGIN REPLICATION PASSWORD :'password';
CREATE DATABASE flights OWNER flights;
\connect flights
CREATE EXTENSION pgboost_train CASCADE;
GRANT EXECUTE ON FUNCTION load_model, deploy_model, drop_model, train_model TO flights;
