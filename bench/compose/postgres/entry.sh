#!/usr/bin/env bash
# The container's first process: makes the cluster on the first start, as a standby
# of the server PRIMARY if that is set, then becomes the server.
# Arguments are the server's: -c shared_buffers=1GB.
#
# A cluster is made next to PGDATA and renamed at the end, so that a start that is interrupted leaves nothing
# half made.
set -euo pipefail

# A database flights with both extensions, and its owner, the role flights, with the password in
# PGBOOST_PASSWORD, as has the role standby, which may replicate. The superuser postgres has no password and
# is reached inside the container only.
initialise() {
    initdb --pgdata="$new" --username=postgres --auth-local=peer --auth-host=scram-sha-256 --encoding=UTF8 \
        --locale=C.UTF-8 >/dev/null
    printf '%s\n' 'host all all all scram-sha-256' 'host replication standby all scram-sha-256' >>"$new/pg_hba.conf"
    # Nobody reaches the server before the extensions are there.
    pg_ctl start --pgdata="$new" --wait --silent --options="-c listen_addresses='' -c unix_socket_directories=/tmp"
    psql --host=/tmp --username=postgres --no-psqlrc --quiet --set=ON_ERROR_STOP=1 <<'SQL'
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
SQL
    pg_ctl stop --pgdata="$new" --wait --silent --mode=fast
}

# A copy of the server PRIMARY, which it then follows as the role standby.
follow() {
    PGPASSWORD=$PGBOOST_PASSWORD pg_basebackup --pgdata="$new" --dbname="host=$PRIMARY user=standby" \
        --write-recovery-conf --checkpoint=fast
}

if [ ! -s "$PGDATA/PG_VERSION" ]; then
    [ -n "${PGBOOST_PASSWORD:-}" ] || { echo "error: set PGBOOST_PASSWORD, the password of the roles flights and standby" >&2; exit 1; }
    new=$(dirname "$PGDATA")/new
    rm -rf "$new"
    if [ -n "${PRIMARY:-}" ]; then follow; else initialise; fi
    mv "$new" "$PGDATA"
fi
exec postgres -c listen_addresses='*' "$@"
