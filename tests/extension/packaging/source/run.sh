#!/usr/bin/env bash
# Goes the README's way from sources in a fresh Debian 12 where nothing is installed: packages, rustup, make
# setup, make install, a prediction, make demo. Says what each step took, and fails if one leaves the system
# changed.
#
# The sources are the last commit's, and rustup is this machine's. Needs root, debootstrap and the network;
# what is downloaded is counted on the machine's network cards, so it is true where nothing else downloads.
set -euo pipefail
. "$(dirname "$0")/../../../../tools/toolchain/env.sh"
. "$root/tools/toolchain/debian.sh"

with_private_mounts "$@"
fresh_debian bookworm
# The packages' own ways: nothing is kept from starting or from making a cluster but by what make does.
rm -r "$debian/usr/sbin/policy-rc.d" "$debian/etc/postgresql-common"
mount --rbind /dev "$debian/dev"
mount -t proc proc "$debian/proc"
git clone --quiet --no-local "$root" "$debian/root/pgboost"
mkdir "$debian/test"
# rustup installs itself under this name.
cp "$(command -v rustup)" "$debian/test/rustup-init"
cp "$root/tests/extension/packaging/source/inside.sh" "$root/tests/extension/sql/models/price.ubj" "$debian/test/"
chmod -R a+rX "$debian/test"
inside "$debian" /test/inside.sh
