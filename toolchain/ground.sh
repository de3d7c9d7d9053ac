# Sourced by the scripts beside it: where the repository and PostgreSQL are, and how they speak.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
debian_pg_config=/usr/lib/postgresql/15/bin/pg_config
pg_config=${PG_CONFIG:-$debian_pg_config}

# The number before the point, once PostgreSQL is there.
postgres_major() { "$pg_config" --version | sed 's/^PostgreSQL \([0-9]*\).*/\1/'; }

say() { printf '==> %s\n' "$*"; }

# Ends the script with what is wrong and, in further lines, what to do.
die() {
    printf 'error: %s\n' "$1" >&2
    shift
    [ $# -eq 0 ] || printf '       %s\n' "$@" >&2
    exit 1
}
