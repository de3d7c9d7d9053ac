#!/usr/bin/env bash
# Installs the Debian packages that the build misses, and the Rust of rust-toolchain.toml; does nothing when
# none is missing.
#
# With the word "bench" also what the comparison with services runs: Redis, PgBouncer and wrk; with "test-bench"
# what its tests run, which is Chromium besides; and with "long" what the long tests run: PgBouncer, SQLsmith,
# libfaketime, Valgrind and QEMU. The services that come with them are never started.
#
# Each is looked for by what it brings, not by its name, so that a system which has
# the thing by other means is left alone. Only Debian 12's packages are installed; on another
# system, without root, and for another PostgreSQL, the script says what to install and stops.
# A step that fails leaves nothing of the system's changed but what apt itself has done.
set -euo pipefail
. "$(dirname "$0")/env.sh"
. "$root/tools/toolchain/systems.sh"

has_server() { [ -x "$(dirname "$pg_config")/initdb" ]; }

lacking() {
    has_server || echo postgresql-15
    has_server_headers || echo postgresql-server-dev-15
    command -v clang >/dev/null || echo clang
    has_libclang || echo libclang-dev
    # The server's headers include ICU's.
    has_icu_headers || echo libicu-dev
    "${PYTHON:-python3}" -c 'import ensurepip, venv' 2>/dev/null || echo python3-venv
    # It fetches the wheel that libxgboost comes out of.
    "${PYTHON:-python3}" -c 'import pip' 2>/dev/null || echo python3-pip
}

lacking_for_bench() {
    command -v redis-server >/dev/null || echo redis-server
    command -v pgbouncer >/dev/null || echo pgbouncer
    command -v wrk >/dev/null || echo wrk
}

lacking_for_test_bench() {
    lacking_for_bench
    # The test of docs/benchmarks/index.html reads the page in it.
    command -v chromium >/dev/null || echo chromium
}

lacking_for_long() {
    command -v pgbouncer >/dev/null || echo pgbouncer
    command -v sqlsmith >/dev/null || echo sqlsmith
    command -v valgrind >/dev/null || echo valgrind
    command -v qemu-x86_64-static >/dev/null || echo qemu-user-static
    compgen -G '/usr/lib/*/faketime/libfaketime.so.1' >/dev/null || echo libfaketime
}

# Debian's package makes and starts a cluster "main" when it is first installed. This
# project does not want it, so that is switched off for the time of the installation. A subshell,
# whose EXIT trap cleans up after a failure too.
without_main_cluster() (
    local directory=/etc/postgresql-common/createcluster.d
    mkdir -p "$directory"
    trap 'rm -f "$directory/zz-pgboost-build.conf"; rmdir -p --ignore-fail-on-non-empty "$directory"' EXIT
    echo 'create_main_cluster = false' >"$directory/zz-pgboost-build.conf"
    "$@"
)

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

# The compiler that rust-toolchain.toml names, which rustup fetches by itself unless RUSTUP_AUTO_INSTALL=0.
fetch_toolchain() (
    cd "$root"
    ! command -v rustup >/dev/null || rustc --version >/dev/null 2>&1 || quietly rustup toolchain install
)

fetch_toolchain
need_compilers
"${PYTHON:-python3}" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null ||
    die "Python 3.11 or later is needed" "set PYTHON to one"
mapfile -t packages < <(
    lacking
    case "${1:-}" in
    bench) lacking_for_bench ;;
    test-bench) lacking_for_test_bench ;;
    long) lacking_for_long ;;
    esac
)
[ ${#packages[@]} -gt 0 ] || exit 0

[ "$(system)" = debian-12 ] && [ "$pg_config" = "$debian_pg_config" ] || die_with_names "${packages[@]}"
[ "$(id -u)" = 0 ] ||
    die "missing packages: ${packages[*]}" "run: sudo apt-get install ${packages[*]}"

say "installing ${packages[*]}, which takes about a minute"
export DEBIAN_FRONTEND=noninteractive
quietly apt-get update -q
without_main_cluster without_services quietly apt-get install -y -q --no-install-recommends "${packages[@]}"
say "installed in $SECONDS s"
