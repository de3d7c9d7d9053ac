#!/bin/sh
# The container's first process: writes PgBouncer's configuration from the environment, then becomes
# PgBouncer. The role flights is let in with the password in PGBOOST_PASSWORD, and PgBouncer logs in to
# PostgreSQL with the same.
set -eu

[ -n "${PGBOOST_PASSWORD:-}" ] || { echo "error: set PGBOOST_PASSWORD, the password of the role flights" >&2; exit 1; }
place=/run/pgbouncer
umask 077
# In this file a quotation mark is doubled.
printf '"flights" "%s"\n' "$(printf %s "$PGBOOST_PASSWORD" | sed 's/"/""/g')" >"$place/users.txt"
cat >"$place/pgbouncer.ini" <<SETTINGS
[databases]
flights = host=${PGBOUNCER_SERVER:-postgres} port=5432 dbname=flights

[pgbouncer]
listen_addr = *
listen_port = 6432
unix_socket_dir =
auth_type = scram-sha-256
auth_file = $place/users.txt
pool_mode = transaction
default_pool_size = ${PGBOUNCER_POOL:-10}
max_client_conn = 200
# The comparison asks PgBouncer for its version and settings.
stats_users = flights
log_connections = 0
log_disconnections = 0
SETTINGS
# As in the comparison: from 1.21 on it can pass prepared statements.
version=$(pgbouncer --version | sed -n 's/^PgBouncer //p')
if [ "$(printf '%s\n' 1.21 "$version" | sort -V | head -n 1)" = 1.21 ]; then
    echo 'max_prepared_statements = 200' >>"$place/pgbouncer.ini"
fi
exec pgbouncer "$place/pgbouncer.ini"
