#!/usr/bin/env bash
# Builds and installs from source in a fresh Debian 12, which has make and C's and Rust's compilers, and predicts: the
# commands of README.md. Says after how many seconds each step has ended.
#
# Needs root, debootstrap and the network. This machine's Rust is taken.
set -euo pipefail
. "$(dirname "$0")/../../toolchain/ground.sh"
. "$root/toolchain/debian.sh"

with_private_mounts "$@"
fresh_debian bookworm
inside "$debian" sh -c 'apt-get update -q && apt-get install -y -q --no-install-recommends gcc libc6-dev make python3' \
    >/dev/null 2>&1
# shellcheck disable=SC2016
in_source "$debian" PRICE="$(od -An -v -tx1 "$root/tests/sql/models/price.ubj" | tr -d ' \n')" bash -euc '
    SECONDS=0
    make setup
    echo "==> packages after $SECONDS s"
    make install
    echo "==> installed after $SECONDS s"
    pg_createcluster 15 main >/dev/null
    pg_ctlcluster 15 main start
    cd /tmp
    found=$(runuser -u postgres -- psql -X -q -A -t -v ON_ERROR_STOP=1 -c "CREATE EXTENSION pgboost_train CASCADE" \
        -c "SELECT FROM load_model(\$\$price\$\$, \$\$\\x$PRICE\$\$)" -c "SELECT predict(\$\$price\$\$, 60, 4, 1)" | tail -n 1)
    pg_ctlcluster 15 main stop
    [ "$found" = 110 ] || { echo "error: predict = $found, expected 110" >&2; exit 1; }
    echo "==> from nothing to a prediction: $SECONDS s"'
