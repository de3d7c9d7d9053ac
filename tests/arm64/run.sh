#!/usr/bin/env bash
# Runs the engine's tests on an emulated ARM processor (aarch64), which has the kernel "neon".
#
#     tests/arm64/run.sh [ARGUMENT...]     arguments go to cargo test
#
# Needs root, Debian's debootstrap and the network; takes five minutes the first time, and 3 GB. The compiler, the
# linker and QEMU's user emulation are those of Debian sid, in a root in .build/arm64 that is made once; stable
# releases have no Rust as new as the engine needs. DEBIAN_MIRROR names another archive than debootstrap's own. The
# sources are seen there read-only. Emulation tells whether results are right, and nothing about speed.
set -euo pipefail
cd "$(dirname "$0")/../.."
. toolchain/ground.sh

debian=$root/.build/arm64/root
log=$debian.log
packages=(rustc cargo libstd-rust-dev:arm64 gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user)
authorities=usr/local/share/ca-certificates

# Runs a command there, with what it takes to reach the network and nothing else of this environment.
inside() {
    local name kept=(PATH=/usr/sbin:/usr/bin HOME=/root LC_ALL=C.UTF-8)
    for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY; do
        [ -z "${!name:-}" ] || kept+=("$name=${!name}")
    done
    env -i "${kept[@]}" chroot "$debian" "$@"
}

install_packages() {
    cp /etc/resolv.conf "$debian/etc/resolv.conf"
    if compgen -G "/$authorities/*.crt" >/dev/null; then
        cp "/$authorities"/*.crt "$debian/$authorities"
        inside update-ca-certificates >/dev/null
    fi
    inside dpkg --add-architecture arm64
    # sid's index is good for a week, and a mirror may be older; signatures are checked all the same.
    inside apt-get update -qq -o Acquire::Check-Valid-Until=false
    inside env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${packages[@]}"
    inside apt-get clean
}

say_why() {
    tail -n 20 "$log" >&2
    die "this failed; ${log#"$root"/} has all of it"
}

make_debian() {
    local made=$debian
    say "making a Debian with a compiler for aarch64 in ${made#"$root"/}"
    debian=$made.making
    rm -rf --one-file-system "$debian"
    mkdir -p "$debian"
    trap say_why EXIT
    (
        debootstrap --variant=minbase --include=ca-certificates sid "$debian" ${DEBIAN_MIRROR:+"$DEBIAN_MIRROR"}
        install_packages
    ) >"$log" 2>&1 </dev/null
    trap - EXIT
    mv "$debian" "$made"
    debian=$made
}

[ "$(id -u)" = 0 ] || die "a root of its own needs root"
command -v debootstrap >/dev/null || die "no debootstrap found: apt-get install debootstrap"
# What is mounted from here on is seen by this process and its children alone, and goes with the last of them.
if [ "${ARM64_MOUNTS:-}" != private ]; then
    ARM64_MOUNTS=private exec unshare --mount --propagation private "tests/arm64/${0##*/}" "$@"
fi

if [ ! -d "$debian" ]; then make_debian; fi
mkdir -p "$debian/extension"
mount --bind "$root/extension" "$debian/extension"
mount -o remount,bind,ro "$debian/extension"
mount -t proc proc "$debian/proc"
say "engine tests on an emulated aarch64: $(inside rustc --version), $(inside qemu-aarch64 --version | head -n 1)"
inside env --chdir=/extension CARGO_HOME=/var/cache/cargo CARGO_TARGET_DIR=/var/cache/target \
    CARGO_PROFILE_DEV_OPT_LEVEL=2 CARGO_PROFILE_TEST_OPT_LEVEL=2 \
    CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc \
    CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER=qemu-aarch64 \
    cargo test --locked -p gbdt --target aarch64-unknown-linux-gnu "$@"
