#!/usr/bin/env bash
# Run by tests/extension/packaging/deb/run.sh in the fresh Debian.
# usage: inside.sh MAJOR
set -euo pipefail

major=$1
export DEBIAN_FRONTEND=noninteractive
libraries=/usr/lib/postgresql/$major/lib
scripts=/usr/share/postgresql/$major/extension

say() { printf '==> %s\n' "$*"; }
quietly() { "$@" >/tmp/log 2>&1 || { cat /tmp/log >&2; exit 1; }; }
as_postgres() { (cd /tmp/quickstart && runuser -u postgres -- "$@"); }
query() { as_postgres psql -X -q -A -t -v ON_ERROR_STOP=1 -d "${2:-postgres}" -c "$1"; }
expect() {
    [ "$2" = "$3" ] || { printf 'error: %s: %s, expected %s\n' "$1" "$2" "$3" >&2; exit 1; }
    say "$1: $2"
}

quietly apt-get update -q
quietly apt-get install -y -q --no-install-recommends "/packages/postgresql-$major-pgboost_"*.deb
expect "files of pgboost_train installed with it" "$(find "$libraries" "$scripts" -name 'pgboost_train*' | wc -l)" 0
say "pgboost is installed after $SECONDS s"
install -d -o postgres /tmp/quickstart
quietly pg_createcluster "$major" main
quietly pg_ctlcluster "$major" main start

query "CREATE EXTENSION pgboost"
query "SELECT load_model('price', '\\x$(od -An -v -tx1 /packages/price.ubj | tr -d ' \n')')" >/dev/null
before=$(query "SELECT predict('price', 60, 4, 1)")
expect "the prediction" "$before" 110
say "from nothing to a prediction: $SECONDS s"
quietly apt-get install -y -q --no-install-recommends "/packages/postgresql-$major-pgboost-train_"*.deb
query "CREATE EXTENSION pgboost_train"
query "CREATE TABLE points AS SELECT i AS a, i % 7 AS b, 3 * i + i % 7 AS y FROM generate_series(1, 1000) AS i"
query "SELECT train_model('line', 'points', 'y', rounds => 20)" >/dev/null
expect "margins of a model trained here that differ from libxgboost's" \
    "$(query "SELECT differing FROM verify_model('line', 'SELECT a, b FROM points')")" 0

# The quickstart as it is, with a model of flights that was trained here.
as_postgres createdb quickstart
as_postgres psql -X -q -d quickstart -v ON_ERROR_STOP=1 -f /packages/flights.sql
query "INSERT INTO flights SELECT i % 60, 2019, 1 + i % 4, 1 + i % 12, i % 900, 1 + i % 7, 1 + i % 28, i % 50, i % 80, i % 90, i % 200
         FROM generate_series(1, 1000) AS i" quickstart
query "CREATE EXTENSION pgboost_train CASCADE" quickstart
query "SELECT train_model('flights', 'flights', 'depdelayminutes', rounds => 5)" quickstart >/dev/null
query "SELECT encode(export_model('flights'), 'base64')" quickstart | base64 -d >/tmp/quickstart/model.ubj
query "DROP EXTENSION pgboost_train, pgboost CASCADE" quickstart
expect "rows that the quickstart predicts for" \
    "$(as_postgres psql -X -q -A -t -d quickstart -v ON_ERROR_STOP=1 -f /packages/quickstart.sql | wc -l)" 11

quietly apt-get install -y -q --no-install-recommends --reinstall "/packages/postgresql-$major-pgboost_"*.deb
expect "the prediction after a reinstallation" "$(query "SELECT predict('price', 60, 4, 1)")" "$before"
quietly apt-get purge -y -q "postgresql-$major-pgboost" "postgresql-$major-pgboost-train"
expect "files left after the purge" "$(find "$libraries" "$scripts" -name 'pgboost*' | wc -l)" 0
quietly pg_ctlcluster "$major" main stop
say "all of it took $SECONDS s"
