#!/usr/bin/env bash
# Installs the packages that `make deb` made in a fresh Debian, and uses, upgrades and purges them:
#
#     tests/extension/packaging/deb/run.sh [SUITE MAJOR [ARCHITECTURE]]     default: this Debian, and the PostgreSQL of PG_CONFIG
#
# Needs root, debootstrap and the network.
set -euo pipefail
. "$(dirname "$0")/../../../../tools/toolchain/env.sh"
. "$root/tools/toolchain/debian.sh"

with_private_mounts "$@"
suite=${1:-$(. /etc/os-release && echo "$VERSION_CODENAME")}
major=${2:-$(postgres_major)}
packages=$root/.build/deb/$major${3:+-$3}
fresh_debian "$suite"
[ -z "${3:-}" ] || inside "$debian" dpkg --add-architecture "$3"
mount --rbind /dev "$debian/dev"
mount -t proc proc "$debian/proc"
mkdir -p "$debian/packages"
cp "$packages"/*.deb "$root/tests/extension/packaging/deb/inside.sh" "$root/tests/extension/sql/models/price.ubj" \
    "$root"/sql/{flights,quickstart}.sql "$debian/packages/"
chmod -R a+rX "$debian/packages"
inside "$debian" /packages/inside.sh "$major"
