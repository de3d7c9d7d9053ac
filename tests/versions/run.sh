#!/usr/bin/env bash
# Runs the extensions' tests on other major versions of PostgreSQL than Debian's, one after the other:
#
#     tests/versions/run.sh MAJOR...
#     PGBOOST_TESTS="tests/batch" tests/versions/run.sh 18
#
# 16 and 18 are fetched by toolchain/postgres.sh; 17 is Debian 13's, and 19, a release candidate, of Debian's
# experimental, each in a root of its own. Each version has a target directory of its own, so that none evicts
# another's libraries. Models also move (tests/versions) from 16 to each later one, and from 17 to 18, where the
# older one ran before.
set -euo pipefail
. "$(dirname "$0")/../../toolchain/ground.sh"

read -ra tests <<<"${PGBOOST_TESTS:-tests/test_sql_regression.py tests/test_quickstart.py tests/batch tests/e2e tests/lifecycle tests/train tests/packaging tests/versions}"

# wheel MAJOR REPOSITORY: the pg_config of a server that was fetched, where the repository has that name.
wheel() { compgen -G "$root/.build/postgres/$1/*/pginstall/bin/pg_config" | sed "s,^$root,$2," || true; }

on_wheel() {
    [ "$1" = 16 ] || PGBOOST_OLD_PG_CONFIG=$(wheel 16 "$root")
    export PGBOOST_OLD_PG_CONFIG
    PG_CONFIG=$("$root/toolchain/postgres.sh" "$1")
    export PG_CONFIG CARGO_TARGET_DIR=$root/.build/postgres/target-$1
    "$root/toolchain/install.sh"
    (cd "$root" && .venv/bin/pytest "${tests[@]}")
}

# on_debian SUITE MAJOR
on_debian() {
    # shellcheck disable=SC2016
    "$root/toolchain/in-debian.sh" "$@" PGBOOST_OLD_PG_CONFIG="$(wheel 16 /source)" \
        sh -c 'make install venv && exec .venv/bin/pytest "$@"' sh "${tests[@]}"
}

from_17_to_18() {
    say "models move from PostgreSQL 17 to 18"
    "$root/toolchain/in-debian.sh" trixie 17 PG_CONFIG="$(wheel 18 /source)" PGBOOST_OLD_PG_CONFIG=/usr/lib/postgresql/17/bin/pg_config \
        .venv/bin/pytest tests/versions
}

for major; do
    say "tests on PostgreSQL $major"
    case $major in
    17) on_debian trixie 17 ;;
    19) on_debian experimental 19 ;;
    *) (on_wheel "$major") ;;
    esac
done
[[ " $* " != *" 17 "*" 18 "* ]] || from_17_to_18
