# Sourced by the scripts beside it: where the repository and PostgreSQL are, and how they speak.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
debian_pg_config=/usr/lib/postgresql/15/bin/pg_config
pg_config=${PG_CONFIG:-$("$root/toolchain/pg-config.sh")}

# Where cargo puts what it builds, for another processor below the name of that target.
built=${CARGO_TARGET_DIR:-$root/extension/target}/${CARGO_BUILD_TARGET:+$CARGO_BUILD_TARGET/}release

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

# put_into DIRECTORY MODE FILE...: installs the files that are not there with the same content.
put_into() {
    local directory=$1 mode=$2 file
    shift 2
    for file; do
        put_as "$directory/${file##*/}" "$mode" "$file"
    done
}

# put_as TARGET MODE FILE. install(1) replaces a file and does not write over it: backends may have it mapped.
put_as() {
    ! cmp -s "$3" "$1" || return 0
    { mkdir -p "${1%/*}" && [ -w "${1%/*}" ]; } 2>/dev/null ||
        die "cannot write to ${1%/*}" \
            "run this as root, or set PG_CONFIG to the pg_config of a PostgreSQL of your own"
    install -m "$2" "$3" "$1"
}
