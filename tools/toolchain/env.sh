# Sourced by the scripts next to it: where the repository and PostgreSQL are, and how they speak.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
debian_pg_config=/usr/lib/postgresql/15/bin/pg_config
pg_config=${PG_CONFIG:-$("$root/tools/toolchain/pg-config.sh")}
case $pg_config in
/*) ;;
*/*) pg_config=$PWD/$pg_config ;;
*) pg_config=$(command -v "$pg_config" || echo "$pg_config") ;;
esac

# Where cargo puts what it builds, for another processor below the name of that target.
built=${CARGO_TARGET_DIR:-$root/extension/target}/${CARGO_BUILD_TARGET:+$CARGO_BUILD_TARGET/}release

# With PGBOOST_QUICK=1 what cargo builds is built in less time, is slower, and checks itself: for what nobody
# measures.
if [ "${PGBOOST_QUICK:-}" ]; then
    export CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_OPT_LEVEL=1 CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16
    export CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS=true CARGO_PROFILE_RELEASE_OVERFLOW_CHECKS=true
fi

# The number before the point; nothing where pg_config is another program or none.
postgres_major() { "$pg_config" --version 2>/dev/null | sed -n '1s/^PostgreSQL \([0-9]*\).*/\1/p'; }

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

# put_as TARGET MODE FILE. The file is whole before it gets its name: backends may have mapped the one that is
# there, which also stays as it is where the disk is full.
put_as() {
    ! cmp -s "$3" "$1" || return 0
    need_writable "${1%/*}"
    mkdir -p "${1%/*}"
    { install -m "$2" "$3" "$1.new" && mv -f "$1.new" "$1"; } || {
        rm -f "$1.new"
        die "$1 could not be written" "what was there stays as it was"
    }
}

# need_writable DIRECTORY: that files can be put there, or it can be made.
need_writable() {
    local there=$1
    until [ -e "$there" ]; do there=$(dirname "$there"); done
    [ -d "$there" ] && [ -w "$there" ] || die "cannot write to $1" \
        "run this as root, or set PG_CONFIG to the pg_config of a PostgreSQL that you own"
}
