#!/usr/bin/env bash
# Runs a command in this repository on another Debian, with the PostgreSQL that it has, and this machine's Rust:
#
#     toolchain/in-debian.sh SUITE MAJOR COMMAND...
#     toolchain/in-debian.sh trixie 17 make deb
#
# The root is in .build/debian/SUITE-MAJOR and made once. It sees the repository under /source, with a Python
# environment, a test cluster and a target directory of its own. Needs root, debootstrap and the network.
set -euo pipefail
. "$(dirname "$0")/ground.sh"
. "$root/toolchain/debian.sh"

with_private_mounts "$@"
suite=$1 major=$2
shift 2
debian=$root/.build/debian/$suite-$major
make_debian "$suite" "$debian" "postgresql-$major" "postgresql-server-dev-$major" binutils clang debhelper dpkg-dev gcc \
    libc6-dev libclang-dev libgomp1 lintian make python3-pip python3-venv
mkdir -p "$debian"/{source,opt/rust}
mount --rbind "$root" "$debian/source"
mount --bind "$(rustc --print sysroot)" "$debian/opt/rust"
mount --rbind /proc "$debian/proc"
mount --rbind /dev "$debian/dev"
for place in .venv .test; do
    mkdir -p "$debian/var/cache/pgboost/$place" "$root/$place"
    mount --bind "$debian/var/cache/pgboost/$place" "$debian/source/$place"
done
inside "$debian" env --chdir=/source PATH=/opt/rust/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    CARGO_HOME=/var/cache/cargo CARGO_TARGET_DIR=/var/cache/target \
    PG_CONFIG="/usr/lib/postgresql/$major/bin/pg_config" "$@"
