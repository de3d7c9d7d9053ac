#!/usr/bin/env bash
# Builds the extensions for ARM (aarch64) and runs their SQL tests on an emulated PostgreSQL 15:
#
#     tests/arm64/sql.sh [ARGUMENT...]     arguments go to pytest; tests/test_sql_regression.py without any
set -euo pipefail
. "$(dirname "$0")/../../toolchain/ground.sh"
. "$root/toolchain/debian.sh"
. "$root/tests/arm64/emulated.sh"

with_private_mounts "$@"
make_arm_debian
emulate
[ $# -gt 0 ] || set -- tests/test_sql_regression.py
# shellcheck disable=SC2016
in_arm_source sh -c 'make install venv && exec .venv/bin/pytest "$@"' sh "$@"
