#!/usr/bin/env bash
# Makes the source package and builds it without a network in a separate Debian: source.sh [SUITE MAJOR]
#
# Needs root, debootstrap and, for the source package and the first root, the network. Without arguments it
# takes this Debian and the PostgreSQL of PG_CONFIG.
set -euo pipefail
. "$(dirname "$0")/../../../../tools/toolchain/env.sh"

suite=${1:-$(. /etc/os-release && echo "$VERSION_CODENAME")}
major=${2:-$(postgres_major)}
"$root/packaging/deb/source.sh" "$major"
say "building it on a Debian $suite without a network"
# shellcheck disable=SC2016
"$root/tools/toolchain/in-debian.sh" "$suite" "$major" unshare --net bash -euc '
    place=/var/cache/pgboost/from-source
    rm -rf "$place"
    mkdir "$place"
    cd "$place"
    dpkg-source --extract /source/.build/deb/source/*.dsc pgboost >/dev/null
    cd pgboost
    dpkg-buildpackage --build=binary --no-check-builddeps --unsigned-changes --unsigned-buildinfo >../build.log 2>&1 ||
        { tail -n 30 ../build.log >&2; exit 1; }
    lintian --allow-root --fail-on error,warning ../*.deb
    ls ../*.deb'
say "all of it took $SECONDS s"
