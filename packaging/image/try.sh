#!/usr/bin/env bash
# Starts the image as its users do, and predicts with a model of the SQL tests:
#
#     packaging/image/try.sh IMAGE
set -euo pipefail
cd "$(dirname "$0")/../.."

container=$(docker run --detach --rm -e POSTGRES_PASSWORD=local-only "${1:?usage: packaging/image/try.sh IMAGE}")
trap 'docker stop "$container" >/dev/null' EXIT
# The entry point starts the server twice; over TCP it is reached the second time only.
for _ in $(seq 60); do
    ! docker exec "$container" pg_isready -q -h 127.0.0.1 || break
    sleep 1
done
query() { docker exec "$container" psql -X -q -A -t -v ON_ERROR_STOP=1 -U postgres -c "$1"; }
query "CREATE EXTENSION pgboost_train CASCADE"
query "SELECT load_model('price', '\\x$(od -An -v -tx1 tests/extension/sql/models/price.ubj | tr -d ' \n')')" >/dev/null
found=$(query "SELECT predict('price', 60, 4, 1)")
[ "$found" = 110 ] || { echo "error: predict = $found, expected 110" >&2; exit 1; }
echo "predict = $found"
