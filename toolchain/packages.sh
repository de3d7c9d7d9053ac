#!/usr/bin/env bash
# Installs the Debian packages that the build lacks; does nothing where it lacks none.
#
# With the word "bench" also what the comparison with the microservice and its tests run: Redis,
# PgBouncer, wrk, PL/Python and Chromium. The services that come with them are never started. With
# a word such as "llvm-22" also that package, whose llvm-profdata the caller has looked for.
#
# Each is looked for by what it brings, not by its name, so that a system which has
# the thing by other means is left alone. Without root or apt-get, and for a
# PostgreSQL other than Debian's 15, the script says what is missing and stops.
set -euo pipefail
. "$(dirname "$0")/ground.sh"

has_libclang() {
    [ -n "${LIBCLANG_PATH:-}" ] || compgen -G '/usr/lib/llvm-*/lib/libclang*.so*' >/dev/null ||
        ldconfig -p 2>/dev/null | grep -q 'libclang.*\.so'
}

has_server() { [ -x "$(dirname "$pg_config")/initdb" ]; }

has_server_headers() {
    [ -x "$pg_config" ] && [ -f "$("$pg_config" --includedir-server)/postgres.h" ]
}

lacking() {
    has_server || echo postgresql-15
    has_server_headers || echo postgresql-server-dev-15
    command -v clang >/dev/null || echo clang
    has_libclang || echo libclang-dev
    "${PYTHON:-python3}" -c 'import ensurepip, venv' 2>/dev/null || echo python3-venv
    # It fetches the wheel that libxgboost comes out of.
    "${PYTHON:-python3}" -c 'import pip' 2>/dev/null || echo python3-pip
}

lacking_for_bench() {
    command -v redis-server >/dev/null || echo redis-server
    command -v pgbouncer >/dev/null || echo pgbouncer
    command -v wrk >/dev/null || echo wrk
    # The test of docs/benchmarks/index.html reads the page in it.
    command -v chromium >/dev/null || echo chromium
    # For another PostgreSQL its own package would be needed; the comparison does without.
    [ "$pg_config" != "$debian_pg_config" ] || [ -f "$(dirname "$pg_config")/../lib/plpython3.so" ] ||
        echo postgresql-plpython3-15
}

# Debian's package makes and starts a cluster "main" when it is first installed. This
# project does not want it, so that is switched off for the time of the installation.
without_main_cluster() {
    local directory=/etc/postgresql-common/createcluster.d
    if [ ! -d /etc/postgresql-common ]; then
        mkdir -p "$directory"
        printf 'create_main_cluster = false\n' >"$directory/pgboost-build.conf"
        trap 'rm -f "$directory/pgboost-build.conf"' RETURN
    fi
    "$@"
}

# Debian starts and enables a service when its package is installed. The comparison starts
# its own with its own configuration, so Debian's are kept from starting now and later.
# A subshell, whose EXIT trap leaves the caller's traps alone.
without_services() (
    local policy=/usr/sbin/policy-rc.d service
    if [ ! -e "$policy" ]; then
        printf '#!/bin/sh\nexit 101\n' >"$policy"
        chmod +x "$policy"
        trap 'rm -f /usr/sbin/policy-rc.d' EXIT
    fi
    "$@"
    command -v systemctl >/dev/null || exit 0
    for service in redis-server pgbouncer; do
        [[ " ${packages[*]} " != *" $service "* ]] || systemctl --quiet disable "$service" || true
    done
)

# Keeps what a command prints for the case that it fails.
quietly() {
    local log
    log=$(mktemp)
    "$@" >"$log" 2>&1 || { cat "$log" >&2; die "failed: $*"; }
    rm -f "$log"
}

check_toolchains() {
    command -v cargo >/dev/null || die "no cargo found" "install Rust, see https://rustup.rs"
    command -v cc >/dev/null || die "no C compiler found" "install one, on Debian: apt-get install build-essential"
    "${PYTHON:-python3}" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null ||
        die "Python 3.11 or later is needed" "set PYTHON to one"
}

check_toolchains
mapfile -t packages < <(
    lacking
    case "${1:-}" in
    bench) lacking_for_bench ;;
    llvm-*) echo "$1" ;;
    esac
)
[ ${#packages[@]} -gt 0 ] || exit 0

if [ "$pg_config" != "$debian_pg_config" ] && { ! has_server || ! has_server_headers; }; then
    die "$pg_config has no server or no server headers beside it" \
        "install them, or leave PG_CONFIG unset for Debian's PostgreSQL 15"
fi
command -v apt-get >/dev/null ||
    die "missing, by the names of Debian's packages: ${packages[*]}" \
        "there is no apt-get here: install them by this system's own means" \
        "and set PG_CONFIG to the pg_config of your PostgreSQL"
[ "$(id -u)" = 0 ] ||
    die "missing packages: ${packages[*]}" "run: sudo apt-get install ${packages[*]}"

say "installing ${packages[*]}"
export DEBIAN_FRONTEND=noninteractive
quietly apt-get update -q
without_main_cluster without_services quietly apt-get install -y -q --no-install-recommends "${packages[@]}"
