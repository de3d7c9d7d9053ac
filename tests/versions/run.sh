#!/usr/bin/env bash
# Runs the extensions' tests on other major versions of PostgreSQL than Debian's, one after the other:
#
#     tests/versions/run.sh MAJOR...
#     PGBOOST_TESTS="tests/batch" tests/versions/run.sh 18
#
# 16 and 18 are fetched by toolchain/postgres.sh; 17 is Debian 13's, in a root of its own. Each has a target directory
# of its own, so that none evicts another's libraries. If 16 ran before 18, its models also move there.
set -euo pipefail
. "$(dirname "$0")/../../toolchain/ground.sh"

read -ra tests <<<"${PGBOOST_TESTS:-tests/test_sql_regression.py tests/test_quickstart.py tests/batch tests/e2e tests/lifecycle tests/train tests/packaging tests/versions}"

on_wheel() {
    if [ "$1" != 16 ] && [ -d "$root/.build/postgres/16" ]; then
        PGBOOST_OLD_PG_CONFIG=$("$root/toolchain/postgres.sh" 16)
        export PGBOOST_OLD_PG_CONFIG
    fi
    PG_CONFIG=$("$root/toolchain/postgres.sh" "$1")
    export PG_CONFIG CARGO_TARGET_DIR=$root/.build/postgres/target-$1
    "$root/toolchain/install.sh"
    (cd "$root" && .venv/bin/pytest "${tests[@]}")
}

# shellcheck disable=SC2016
on_debian() { "$root/toolchain/in-debian.sh" "$1" "$2" sh -c 'make install venv && exec .venv/bin/pytest "$@"' sh "${tests[@]}"; }

for major; do
    say "tests on PostgreSQL $major"
    case $major in
    17) on_debian trixie 17 ;;
    *) (on_wheel "$major") ;;
    esac
done
