#!/usr/bin/env bash
# Prints the pg_config that is meant where PG_CONFIG names none: that of Debian 12's PostgreSQL 15, of the
# newest next to it, or the one on the path, if it has a server's headers. Where there is none, the first of
# these.
set -euo pipefail

wanted=/usr/lib/postgresql/15/bin/pg_config
newest=$(compgen -G "/usr/lib/postgresql/*/bin/pg_config" | sort -V | tail -n 1 || true)
for found in "$wanted" "$newest" "$(command -v pg_config || true)"; do
    if [ -x "$found" ] && [ -f "$("$found" --includedir-server)/postgres.h" ]; then
        echo "$found"
        exit
    fi
done
echo "$wanted"
