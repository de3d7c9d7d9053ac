#!/usr/bin/env bash
# Makes the cluster of a hot standby: a copy of the server PRIMARY, which it then follows.
# It logs in as the role standby, with the password in PGBOOST_PASSWORD.
set -euo pipefail

[ -n "${PGBOOST_PASSWORD:-}" ] || { echo "error: set PGBOOST_PASSWORD, the password of the role standby" >&2; exit 1; }
new=$(dirname "$PGDATA")/new
rm -rf "$new"
export PGPASSWORD=$PGBOOST_PASSWORD
pg_basebackup --pgdata="$new" --dbname="host=$PRIMARY user=standby" --write-recovery-conf --checkpoint=fast
mv "$new" "$PGDATA"
