#!/usr/bin/env bash
# Makes the cluster: a database flights with both extensions, and its owner, the role flights, with the
# password in PGBOOST_PASSWORD, as has the role standby, which may replicate. The superuser postgres has no
# password and is reached inside the container only.
#
# All is made next to PGDATA and renamed at the end, so that a start that is interrupted leaves nothing half
# made.
set -euo pipefail

[ -n "${PGBOOST_PASSWORD:-}" ] || { echo "error: set PGBOOST_PASSWORD, the password of the role flights" >&2; exit 1; }
new=$(dirname "$PGDATA")/new
rm -rf "$new"
initdb --pgdata="$new" --username=postgres --auth-local=peer --auth-host=scram-sha-256 --encoding=UTF8 \
    --locale=C.UTF-8 >/dev/null
printf '%s\n' 'host all all all scram-sha-256' 'host replication standby all scram-sha-256' >>"$new/pg_hba.conf"
# Nobody reaches the server before the extensions are there.
pg_ctl start --pgdata="$new" --wait --silent --options="-c listen_addresses='' -c unix_socket_directories=/tmp"
psql --host=/tmp --username=postgres --no-psqlrc --quiet --set=ON_ERROR_STOP=1 \
    --file=/usr/local/share/pgboost/initialise.sql
pg_ctl stop --pgdata="$new" --wait --silent --mode=fast
mv "$new" "$PGDATA"
