#!/usr/bin/env bash
# Runs the engine's tests on an emulated ARM processor (aarch64), which has the kernel "neon".
#
#     tests/extension/arm64/run.sh [ARGUMENT...]     arguments go to the tests
#
# Needs root, Debian's debootstrap and the network; takes five minutes the first time, and 3 GB. The compiler,
# the linker and QEMU's user emulation are those of Debian sid, in a root in .build/arm64 that is made once;
# stable releases have no Rust as new as the engine needs. DEBIAN_MIRROR names another archive than
# debootstrap's own. The sources are seen there read-only. Emulation tells whether results are right, and
# nothing about speed; without optimization the tests take much longer. The examples would be started as
# programs, which needs more than an emulator.
set -euo pipefail
. "$(dirname "$0")/../../../tools/toolchain/env.sh"
. "$root/tools/toolchain/debian.sh"

debian=$root/.build/arm64/root
packages=(rustc cargo libstd-rust-dev:arm64 gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user)

prepare_debian() { inside "$1" dpkg --add-architecture arm64; }

with_private_mounts "$@"
make_debian sid "$debian" "${packages[@]}"
mkdir -p "$debian/extension"
mount --bind "$root/extension" "$debian/extension"
mount -o remount,bind,ro "$debian/extension"
mount -t proc proc "$debian/proc"
say "engine tests on an emulated aarch64: $(inside "$debian" rustc --version), $(inside "$debian" qemu-aarch64 --version | head -n 1)"
inside "$debian" env --chdir=/extension CARGO_HOME=/var/cache/cargo CARGO_TARGET_DIR=/var/cache/target \
    CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc \
    CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER=qemu-aarch64 \
    cargo test --locked --release -p gbtrees --target aarch64-unknown-linux-gnu \
    -- --skip library::examples_run "$@"
