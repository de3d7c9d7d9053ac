#!/usr/bin/env bash
# Builds Citus from its source, CITUS_SOURCE (an archive, or a directory), and installs it into the PostgreSQL
# of PG_CONFIG.
#
# Only the tests of pgboost_citus need it. Compression and SSL are left out, which wheels of PostgreSQL have not, and
# statistics, which need curl. Times of files are kept, since a configure that seems old would be made again.
set -euo pipefail
. "$(dirname "$0")/env.sh"

extensions=$("$pg_config" --sharedir)/extension
if [ -f "$extensions/citus.control" ]; then
    say "Citus is already installed in $extensions"
    exit 0
fi
[ -n "${CITUS_SOURCE:-}" ] ||
    die "Citus is not installed in PostgreSQL $(postgres_major), and CITUS_SOURCE names no source of it" \
        "set CITUS_SOURCE to an archive or a directory of https://github.com/citusdata/citus"

source=$root/.build/citus
rm -rf "$source"
mkdir -p "$source"
if [ -d "$CITUS_SOURCE" ]; then
    cp -a "$CITUS_SOURCE/." "$source"
else
    tar --extract --file "$CITUS_SOURCE" --directory "$source" --strip-components 1
fi

# Citus compiles with the warnings of the compiler that built PostgreSQL, of which this one may not know all.
compiler=$source/compiler
cat >"$compiler" <<'END'
#!/bin/sh
for option; do
    shift
    [ "$option" = -Wmissing-variable-declarations ] || set -- "$@" "$option"
done
exec gcc "$@"
END
chmod +x "$compiler"

say "building Citus for PostgreSQL $(postgres_major), about a minute of processor time"
log=$source/build.log
cd "$source"
{ ./configure CC="$compiler" PG_CONFIG="$pg_config" --without-libcurl --without-lz4 --without-zstd &&
    make --silent extension && make --silent install-extension; } >"$log" 2>&1 ||
    die "Citus was not built: the last lines of $log are" "$(tail -5 "$log")"
