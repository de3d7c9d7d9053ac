#!/usr/bin/env bash
# Runs the extensions' tests on other versions of PostgreSQL than Debian's, one after the other:
#
#     tests/extension/versions/run.sh VERSION...
#     PGBOOST_TESTS="tests/extension/batch" tests/extension/versions/run.sh 18
#
# 16, the early 16.2 and 18 are fetched by tools/toolchain/postgres.sh; 17 is Debian 13's, and 19, a release candidate,
# of Debian's experimental, each in a separate root. Each version has a separate target directory, so that none evicts
# another's libraries. Models also move (tests/extension/versions) from 16 to each later one. With 15, whose tests are
# make test's, they move from the 15.18 of tools/toolchain/postgres_assertions.sh to 17 and 18, and with 17 from
# that to 18.
set -euo pipefail
. "$(dirname "$0")/../../../tools/toolchain/env.sh"

read -ra tests <<<"${PGBOOST_TESTS:-tests/extension/test_sql_regression.py tests/extension/test_quickstart.py tests/extension/batch tests/extension/e2e tests/extension/lifecycle tests/extension/pages tests/extension/train tests/extension/packaging tests/extension/versions}"

# older MAJOR REPOSITORY: the pg_config of a server that was fetched or built, where the repository has that
# name.
older() {
    local place=$root/.build/postgres
    { compgen -G "$place/$1/*/pginstall/bin/pg_config" || compgen -G "$place/$1-*/installed/bin/pg_config" || true; } |
        sed "s,^$root,$2,"
}

on_wheel() {
    [ "$1" = 16 ] || PGBOOST_OLD_PG_CONFIG=${PGBOOST_OLD_PG_CONFIG:-$(older 16 "$root")}
    export PGBOOST_OLD_PG_CONFIG
    PG_CONFIG=$("$root/tools/toolchain/postgres.sh" "$1")
    export PG_CONFIG CARGO_TARGET_DIR=$root/.build/postgres/target-$1
    "$root/tools/toolchain/install.sh"
    (cd "$root" && .venv/bin/pytest -n 2 --dist loadfile "${tests[@]}")
}

# on_debian SUITE MAJOR
on_debian() {
    # shellcheck disable=SC2016
    "$root/tools/toolchain/in-debian.sh" "$@" PGBOOST_OLD_PG_CONFIG="$(older 16 /source)" \
        sh -c 'make install venv && exec .venv/bin/pytest "$@"' sh "${tests[@]}"
}

on_assertions() {
    PG_CONFIG=$("$root/tools/toolchain/postgres_assertions.sh")
    export PG_CONFIG CARGO_TARGET_DIR=$root/.build/postgres/target-assertions
    "$root/tools/toolchain/install.sh"
}

# move FROM TO OLD_PG_CONFIG [NAME=VALUE], the paths as Debian 13's root has them, which has 17 and reaches
# the others.
move() {
    say "models move from PostgreSQL $1 to $2"
    "$root/tools/toolchain/in-debian.sh" trixie 17 PGBOOST_OLD_PG_CONFIG="$3" "${@:4}" .venv/bin/pytest tests/extension/versions
}

for major; do
    [ "$major" = 15 ] || say "tests on PostgreSQL $major"
    case $major in
    15) (on_assertions) ;;
    17) on_debian trixie 17 ;;
    19) on_debian experimental 19 ;;
    *) (on_wheel "$major") ;;
    esac
done
newest=PG_CONFIG=$(older 18 /source)
majors=" $* "
asked() { [[ $majors == *" $1 "* && $majors == *" $2 "* ]]; }
! asked 15 17 || move 15 17 "$(older 15 /source)"
! asked 15 18 || move 15 18 "$(older 15 /source)" "$newest"
! asked 17 18 || move 17 18 /usr/lib/postgresql/17/bin/pg_config "$newest"
