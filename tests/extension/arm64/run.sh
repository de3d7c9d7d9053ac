#!/usr/bin/env bash
# Runs tests on an emulated ARM processor (aarch64), which has the kernel "neon":
#
#     tests/extension/arm64/run.sh engine [ARGUMENT...]   the engine's tests; arguments go to them
#     tests/extension/arm64/run.sh sql [ARGUMENT...]      builds the extensions and runs tests of SQL on an emulated
#                                                         PostgreSQL 15; arguments go to pytest
#     tests/extension/arm64/run.sh deb                    makes the Debian packages, in .build/deb/15-arm64, and
#                                                         installs, uses, upgrades and purges them in a fresh Debian
#
# Needs root, Debian's debootstrap and the network; takes five minutes the first time, and 3 GB. DEBIAN_MIRROR
# names another archive than debootstrap's own. Emulation tells whether results are right, and nothing about
# speed.
#
# The engine's compiler, linker and QEMU are those of Debian sid, in a root in .build/arm64 that is made once;
# stable releases have no Rust as new as the engine needs. The sources are seen there read-only. Without
# optimization the tests take much longer. The examples would be started as programs, which needs more than an
# emulator.
#
# The server, what it loads and what it starts are ARM's, and what builds and what asks are this machine's own
# programs, in a Debian 12 in .build/arm64. That needs rustup's library for that processor, and a kernel with
# binfmt_misc, which runs ARM's programs by QEMU as if they were this machine's, until the script ends.
set -euo pipefail
. "$(dirname "$0")/../../../tools/toolchain/env.sh"
. "$root/tools/toolchain/debian.sh"

target=aarch64-unknown-linux-gnu
binfmt=/proc/sys/fs/binfmt_misc
# Its development package wants ARM's compilers; only its headers are needed.
headers=postgresql-server-dev-15:arm64

prepare_debian() { inside "$1" dpkg --add-architecture arm64; }

engine() {
    debian=$root/.build/arm64/root
    make_debian sid "$debian" rustc cargo libstd-rust-dev:arm64 gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user
    mkdir -p "$debian/extension"
    mount --bind "$root/extension" "$debian/extension"
    mount -o remount,bind,ro "$debian/extension"
    mount -t proc proc "$debian/proc"
    say "engine tests on an emulated aarch64: $(inside "$debian" rustc --version), $(inside "$debian" qemu-aarch64 --version | head -n 1)"
    inside "$debian" env --chdir=/extension CARGO_HOME=/var/cache/cargo CARGO_TARGET_DIR=/var/cache/target \
        CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc \
        CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER=qemu-aarch64 \
        cargo test --locked --release -p gbtrees --target "$target" -- --skip library::examples_run "$@"
}

# The first twenty bytes of an ELF file for aarch64, and which of their bits count. F opens QEMU now.
emulate() {
    [ -e "$binfmt/register" ] || mount -t binfmt_misc none "$binfmt"
    [ ! -e "$binfmt/pgboost-arm64" ] || return 0
    local magic='\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00'
    local mask='\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff'
    printf ':pgboost-arm64:M::%s:%s:%s:F' "$magic" "$mask" "$debian/usr/bin/qemu-aarch64-static" >"$binfmt/register"
    trap 'echo -1 >"$binfmt/pgboost-arm64"' EXIT
}

make_arm_debian() {
    debian=$root/.build/arm64/bookworm
    rustup target add "$target" >/dev/null 2>&1 || [ -d "$(rustc --print sysroot)/lib/rustlib/$target" ] ||
        die "Rust has no library for $target" "run: rustup target add $target"
    make_debian bookworm "$debian" postgresql-15:arm64 gcc gcc-aarch64-linux-gnu libc6-dev libc6-dev-arm64-cross \
        clang libclang-dev make python3-pip python3-venv qemu-user-static libgomp1:arm64 libicu-dev debhelper dpkg-dev lintian
    [ -f "$debian/usr/include/postgresql/15/server/postgres.h" ] ||
        inside "$debian" sh -c "cd /tmp && apt-get -qq download $headers && dpkg -x postgresql-server-dev-15_*.deb /"
    emulate
}

# in_arm_source COMMAND...: runs it in this repository, and cargo there builds for ARM.
in_arm_source() {
    in_source "$debian" PG_CONFIG=/usr/lib/postgresql/15/bin/pg_config \
        CARGO_BUILD_TARGET="$target" CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc \
        BINDGEN_EXTRA_CLANG_ARGS_aarch64_unknown_linux_gnu=-I/usr/aarch64-linux-gnu/include "$@"
}

sql() {
    make_arm_debian
    [ $# -gt 0 ] || set -- tests/extension/test_sql_regression.py
    # shellcheck disable=SC2016
    in_arm_source sh -c 'make install venv && exec .venv/bin/pytest "$@"' sh "$@"
}

deb() {
    make_arm_debian
    (in_arm_source make deb)
    "$root/tests/extension/packaging/deb/run.sh" bookworm 15 arm64
}

case ${1:-} in
engine | sql | deb) ;;
*) die "not known: ${1:-}" "run.sh engine|sql|deb" ;;
esac
with_private_mounts "$@"
"$@"
