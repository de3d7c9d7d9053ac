#!/usr/bin/env bash
# Builds both extensions and pgboost_trainer in release mode for the PostgreSQL that PG_CONFIG names; with
# PGBOOST_TRAIN=no pgboost alone.
#
# Plain cargo: the crates that bind PostgreSQL's headers are told of pg_config by PGRX_PG_CONFIG_PATH, and
# the SQL scripts are files of the repository. Cargo skips what is up to date. It would take a library of
# another major version for up to date, since a cdylib has the same file name for every feature.
#
# With PGBOOST_FAULTS=1 it builds what only tests load, into .build/faults, quickly: libraries whose
# statements fail where a session says (extension/pg_interface/src/fault.rs).
set -euo pipefail
[ "${PGBOOST_FAULTS:-}" != 1 ] || PGBOOST_QUICK=1
. "$(dirname "$0")/env.sh"
. "$root/tools/toolchain/systems.sh"

need_compilers
need_server_headers
major=$(postgres_major)
crates=(-p pgboost)
features=pgboost/pg$major
if [ "${PGBOOST_TRAIN:-yes}" != no ]; then
    crates+=(-p pgboost_train -p pgboost_trainer)
    features+=,pgboost_train/pg$major
fi
if [ "${PGBOOST_FAULTS:-}" = 1 ]; then
    features+=,pgboost/faults,pgboost_train/faults
    export CARGO_TARGET_DIR=$root/.build/faults
    built=$CARGO_TARGET_DIR/release
fi
export PGRX_PG_CONFIG_PATH=$pg_config

# cargo would look for make's job server there, which make -j hands to no command but itself.
unset MAKEFLAGS MFLAGS
# cargo's own progress is for a terminal.
quiet=(--quiet)
[ ! -t 2 ] || quiet=()
say "building pgboost for PostgreSQL $major, which takes some two minutes the first time"
[ "$(cat "$built/postgres" 2>/dev/null)" = "$major" ] || rm -rf "$built"/.fingerprint/pgboost{,_train}-*
cd "$root/extension"
cargo build "${quiet[@]}" --locked --release "${crates[@]}" --no-default-features --features "$features"
echo "$major" >"$built/postgres"
[ "$SECONDS" -lt 10 ] || say "built in $SECONDS s"
