#!/usr/bin/env bash
# Builds pgboost for PostgreSQL 17 and runs the tests on it, in a Debian 13 of its own in .build/debian:
#
#     tests/versions/in-trixie.sh [ARGUMENT...]     arguments go to pytest
#
# No wheel has a 17 with headers, and Debian's has LLVM, so that JIT is tested here. Needs root, debootstrap
# and the network. Rust is this machine's; the repository is seen there under /source, and what is built stays in
# the root.
set -euo pipefail
. "$(dirname "$0")/../../toolchain/ground.sh"
. "$root/toolchain/debian.sh"

with_private_mounts "$@"
debian=$root/.build/debian/trixie-17
make_debian trixie "$debian" postgresql-17 postgresql-server-dev-17 clang libclang-dev gcc libc6-dev make \
    python3-pip python3-venv binutils libgomp1
mkdir -p "$debian"/{source,opt/rust}
mount --rbind "$root" "$debian/source"
mount --bind "$(rustc --print sysroot)" "$debian/opt/rust"
mount --rbind /proc "$debian/proc"
mount --rbind /dev "$debian/dev"
# The tests' state and what is fetched belong to the root, and not to the repository that is seen there.
for place in .build .venv .test; do
    mkdir -p "$debian/var/cache/pgboost/$place" "$root/$place"
    mount --bind "$debian/var/cache/pgboost/$place" "$debian/source/$place"
done
chmod 755 "$debian/source"
# shellcheck disable=SC2016
inside "$debian" env --chdir=/source PATH=/opt/rust/bin:/usr/sbin:/usr/bin:/sbin:/bin CARGO_HOME=/var/cache/cargo \
    CARGO_TARGET_DIR=/var/cache/target PG_CONFIG=/usr/lib/postgresql/17/bin/pg_config \
    sh -c 'make install venv && exec .venv/bin/pytest "$@"' sh "$@"
