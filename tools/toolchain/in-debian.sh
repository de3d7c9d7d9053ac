#!/usr/bin/env bash
# Runs a command in this repository on another Debian, with the PostgreSQL that it has, and this machine's
# Rust:
#
#     tools/toolchain/in-debian.sh SUITE MAJOR [NAME=VALUE...] COMMAND...
#     tools/toolchain/in-debian.sh trixie 17 make deb
#
# From experimental, a few packages in addition to sid's, it has PostgreSQL alone, and the rest from sid.
# The root is in .build/debian/SUITE-MAJOR and made once. Needs root, debootstrap and the network.
set -euo pipefail
. "$(dirname "$0")/env.sh"
. "$root/tools/toolchain/debian.sh"

with_private_mounts "$@"
suite=$1 major=$2
shift 2
debian=$root/.build/debian/$suite-$major

prepare_debian() {
    [[ "$debian" = */experimental-* ]] || return 0
    sed 's/ sid / experimental /' "$1/etc/apt/sources.list" >"$1/etc/apt/sources.list.d/experimental.list"
    printf '%s\n' "Package: src:postgresql-$major" 'Pin: release a=experimental' 'Pin-Priority: 990' \
        >"$1/etc/apt/preferences.d/experimental"
}

make_debian "${suite/experimental/sid}" "$debian" "postgresql-$major" "postgresql-server-dev-$major" binutils clang \
    debhelper dpkg-dev gcc libc6-dev libclang-dev libgomp1 libicu-dev lintian make python3-pip python3-venv
in_source "$debian" PG_CONFIG="/usr/lib/postgresql/$major/bin/pg_config" "$@"
