# Sourced, after tools/toolchain/env.sh and debian.sh, by what builds the extensions for ARM (aarch64) and runs
# them there.
#
# Needs root, Debian's debootstrap, the network, rustup's library for that processor, and a kernel with
# binfmt_misc, which runs ARM's programs by QEMU as if they were this machine's. What builds and what asks are
# this machine's own programs; the server, what it loads and what it starts are ARM's. All are in a Debian 12
# in .build/arm64, made once. The kernel knows of QEMU until the script ends. Emulation tells whether results
# are right, and nothing about speed.

target=aarch64-unknown-linux-gnu
debian=$root/.build/arm64/bookworm
binfmt=/proc/sys/fs/binfmt_misc
# Its development package wants ARM's compilers; only its headers are needed.
headers=postgresql-server-dev-15:arm64

prepare_debian() { inside "$1" dpkg --add-architecture arm64; }

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
    rustup target add "$target" >/dev/null 2>&1 || [ -d "$(rustc --print sysroot)/lib/rustlib/$target" ] ||
        die "Rust has no library for $target" "run: rustup target add $target"
    make_debian bookworm "$debian" postgresql-15:arm64 gcc gcc-aarch64-linux-gnu libc6-dev libc6-dev-arm64-cross \
        clang libclang-dev make python3-pip python3-venv qemu-user-static libgomp1:arm64 libicu-dev debhelper dpkg-dev lintian
    [ -f "$debian/usr/include/postgresql/15/server/postgres.h" ] ||
        inside "$debian" sh -c "cd /tmp && apt-get -qq download $headers && dpkg -x postgresql-server-dev-15_*.deb /"
}

# in_arm_source COMMAND...: runs it in this repository, and cargo there builds for ARM.
in_arm_source() {
    in_source "$debian" PG_CONFIG=/usr/lib/postgresql/15/bin/pg_config \
        CARGO_BUILD_TARGET="$target" CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc \
        BINDGEN_EXTRA_CLANG_ARGS_aarch64_unknown_linux_gnu=-I/usr/aarch64-linux-gnu/include "$@"
}
