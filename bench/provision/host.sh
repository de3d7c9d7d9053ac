#!/usr/bin/env bash
# Turns a fresh Debian 12 host into one side of the comparison: host.sh server|store|client [--tune]
#
# It does next to nothing where everything is there, and runs as root, on a cloud host and in a network
# namespace alike. What the build and the harness need comes from tools/toolchain/ and the Makefile; here is
# only what those expect of a machine and a fresh one does not have.
set -euo pipefail
# shellcheck source=../../tools/toolchain/env.sh
. "$(dirname "$0")/../../tools/toolchain/env.sh"

rust=1.96.0
rustup=1.28.2
# Of rustup-init, from https://static.rust-lang.org/rustup/archive/$rustup/.
declare -A rustup_sha256=(
    [x86_64]=20a06e644b0d9bd2fbdbfd52d42540bdde820ea7df86e92e533c073da0cdd43c
    [aarch64]=e3853c5a252fca15252d07cb23a1bdd9377a8c6f3efa01531109281ae47f841c
)
limits=/etc/security/limits.d/60-pgboost-bench.conf
kernel=/etc/sysctl.d/60-pgboost-bench.conf

usage() {
    printf 'usage: %s server|store|client [--tune]\n\n' "$0"
    printf 'Makes this Debian 12 host that part of the comparison. Needs root; running it again is quick.\n'
    printf '  --tune   also raise the limits of open files and waiting connections: for a host that\n'
    printf '           does nothing else, since they stay raised\n'
}

# Reads the script's arguments and checks that this is a host for the role.
begin() {
    role='' tune=''
    while [ $# -gt 0 ]; do
        case $1 in
        server | store | client) role=$1 ;;
        --tune) tune=yes ;;
        --help) usage; exit 0 ;;
        *) usage >&2; die "no such argument: $1" ;;
        esac
        shift
    done
    [ -n "$role" ] || { usage >&2; die "no role"; }
    [ "$(id -u)" = 0 ] || die "this needs root" "run: sudo $0 $role"
    PATH=$PATH:${CARGO_HOME:-$HOME/.cargo}/bin
    export DEBIAN_FRONTEND=noninteractive
}

# need COMMAND PACKAGE...: notes a package whose command is not there, for install_noted.
noted=()
need() {
    while [ $# -gt 0 ]; do
        command -v "$1" >/dev/null || noted+=("$2")
        shift 2
    done
}

install_noted() {
    [ ${#noted[@]} -gt 0 ] || return 0
    command -v apt-get >/dev/null ||
        die "there is no apt-get here to install ${noted[*]}" "the roles are made of Debian's packages"
    say "installing ${noted[*]}"
    local log
    log=$(mktemp)
    { apt-get update -q && apt-get install -y -q --no-install-recommends "${noted[@]}"; } >"$log" 2>&1 ||
        { cat "$log" >&2; die "could not install ${noted[*]}"; }
    rm -f "$log"
    noted=()
}

# The requirements of tools/toolchain/packages.sh.
install_toolchains() {
    need make make cc build-essential curl curl python3 python3
    [ -e /etc/ssl/certs/ca-certificates.crt ] || noted+=(ca-certificates)
    install_noted
    command -v cargo >/dev/null || install_rust
}

install_rust() {
    local machine directory installer
    machine=$(uname -m)
    [ -n "${rustup_sha256[$machine]:-}" ] || die "no checksum of rustup is known for $machine" "install Rust $rust first"
    say "installing Rust $rust"
    # It goes by its own name what it is to do.
    directory=$(mktemp -d)
    installer=$directory/rustup-init
    curl --proto '=https' --tlsv1.2 --silent --show-error --fail --location --output "$installer" \
        "https://static.rust-lang.org/rustup/archive/$rustup/$machine-unknown-linux-gnu/rustup-init"
    sha256sum --check --quiet <<<"${rustup_sha256[$machine]}  $installer" || die "rustup-init is not the pinned one"
    chmod +x "$installer"
    "$installer" -y --quiet --no-modify-path --profile minimal --default-toolchain "$rust" >/dev/null
    rm -rf "$directory"
}

# Only what is lower is raised: a kernel of today has 4096 already.
raise_kernel() {
    local name=$1 wanted=$2 now
    now=$(sysctl --values "$name")
    [ "$now" -lt "$wanted" ] || return 0
    say "raising $name from $now to $wanted"
    printf '%s = %s\n' "$name" "$wanted" >>"$kernel"
    sysctl --quiet --write "$name=$wanted"
}

# A hundred clients without keep-alive open thousands of connections per second, which wait in these queues.
tune_if_asked() {
    [ -n "$tune" ] || return 0
    need sysctl procps
    install_noted
    raise_kernel net.core.somaxconn 4096
    raise_kernel net.ipv4.tcp_max_syn_backlog 4096
    [ ! -e "$limits" ] || return 0
    # Redis wants 10,032; the hard limit, which Debian has far above, stays.
    say "raising the limit of open files to 16384, from the next login on"
    printf '%s soft nofile 16384\n' '*' root >"$limits"
}

# Gives root's files in the repository to the user of sudo, who measures. Other owners are kept, such as that
# of a running cluster.
hand_back() {
    [ -n "${SUDO_USER:-}" ] && [ "$SUDO_USER" != root ] || return 0
    find "$root" -user root -exec chown --no-dereference "$SUDO_USER:" {} +
}

# PostgreSQL 15 with the extensions, PgBouncer, and the microservice's Python. The first time takes some
# minutes, most of them for compiling the extensions.
server() {
    install_toolchains
    make --silent -C "$root" bench-install
    "$root/bench/systems/asgi/build.sh"
}

# The feature store: Redis, which the harness starts with its own configuration, by a Python program that
# needs only Python and psutil. Where systemd runs, Debian's Redis service is kept from also taking memory and
# the port.
store() {
    local fresh
    need redis-server redis-server python3 python3
    fresh=${#noted[@]}
    # The harness's program runs by the repository's Python where there is one.
    [ -x "$root/.venv/bin/python" ] || python3 -c "import psutil" 2>/dev/null || noted+=(python3-psutil)
    install_noted
    if [ "$fresh" -gt 0 ] && [ -d /run/systemd/system ]; then
        systemctl --quiet disable --now redis-server
    fi
}

# pgbench, wrk, vegeta, and Python for the loaders.
client() {
    install_toolchains
    make --silent -C "$root" bench-packages venv
    "$root/tools/toolchain/vegeta.sh"
}

begin "$@"
"$role"
tune_if_asked
hand_back
say "this host is ready to be the $role"
