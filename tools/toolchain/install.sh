#!/usr/bin/env bash
# Builds pgboost and puts it into the PostgreSQL that PG_CONFIG names: the extensions with their control files
# and SQL scripts, the program pgboost_trainer, and libxgboost.
#
# PGBOOST_TRAIN=no leaves out pgboost_train, and with it libxgboost, the one thing that cargo does not fetch.
# With DESTDIR all of it goes below that directory, as packagers want it. Nothing else of the system is
# touched, and a file that is there with the same content is left alone.
set -euo pipefail
. "$(dirname "$0")/env.sh"
. "$root/tools/toolchain/systems.sh"

# Checked before the build, which takes minutes.
need_compilers
need_server_headers
libraries=${DESTDIR:-}$("$pg_config" --pkglibdir)
scripts=${DESTDIR:-}$("$pg_config" --sharedir)/extension

# put_scripts EXTENSION: the control file, the present script under its version's name, and those that update
# from earlier versions, whose names have two.
put_scripts() {
    local from=$root/extension/$1 version
    version=$(sed -n "s/^default_version = '\(.*\)'/\1/p" "$from/$1.control")
    put_as "$scripts/$1.control" 644 "$from/$1.control"
    put_as "$scripts/$1--$version.sql" 644 "$from/$1.sql"
    shopt -s nullglob
    put_into "$scripts" 644 "$from/$1"--*.sql
}

need_writable "$libraries"
need_writable "$scripts"

"$root/tools/toolchain/build.sh"
put_as "$libraries/pgboost.so" 755 "$built/libpgboost.so"
put_scripts pgboost
put_scripts pgboost_citus
if [ "${PGBOOST_TRAIN:-yes}" != no ]; then
    put_as "$libraries/pgboost_train.so" 755 "$built/libpgboost_train.so"
    put_into "$libraries/pgboost_train" 755 "$built/pgboost_trainer"
    put_scripts pgboost_train
    "$root/tools/toolchain/libxgboost.sh"
fi
say "pgboost is installed in $libraries"
