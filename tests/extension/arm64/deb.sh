#!/usr/bin/env bash
# Makes the Debian packages for ARM (aarch64) and PostgreSQL 15, in .build/deb/15-arm64, and installs, uses,
# upgrades and purges them in a fresh Debian whose PostgreSQL is emulated.
set -euo pipefail
. "$(dirname "$0")/../../../tools/toolchain/env.sh"
. "$root/tools/toolchain/debian.sh"
. "$root/tests/extension/arm64/emulated.sh"

with_private_mounts "$@"
make_arm_debian
emulate
(in_arm_source make deb)
"$root/tests/extension/packaging/deb/run.sh" bookworm 15 arm64
