#!/usr/bin/env bash
# Runs a command in this repository on another Debian, with the PostgreSQL that it has, and this machine's Rust:
#
#     toolchain/in-debian.sh SUITE MAJOR [NAME=VALUE...] COMMAND...
#     toolchain/in-debian.sh trixie 17 make deb
#
# The root is in .build/debian/SUITE-MAJOR and made once. Needs root, debootstrap and the network.
set -euo pipefail
. "$(dirname "$0")/ground.sh"
. "$root/toolchain/debian.sh"

with_private_mounts "$@"
suite=$1 major=$2
shift 2
debian=$root/.build/debian/$suite-$major
make_debian "$suite" "$debian" "postgresql-$major" "postgresql-server-dev-$major" binutils clang debhelper dpkg-dev gcc \
    libc6-dev libclang-dev libgomp1 lintian make python3-pip python3-venv
in_source "$debian" PG_CONFIG="/usr/lib/postgresql/$major/bin/pg_config" "$@"
