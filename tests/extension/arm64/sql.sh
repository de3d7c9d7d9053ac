#!/usr/bin/env bash
# Builds the extensions for ARM (aarch64) and runs their SQL tests on an emulated PostgreSQL 15:
#
#     tests/extension/arm64/sql.sh [ARGUMENT...]     arguments go to pytest; tests/extension/test_sql_regression.py without any
set -euo pipefail
. "$(dirname "$0")/../../../tools/toolchain/env.sh"
. "$root/tools/toolchain/debian.sh"
. "$root/tests/extension/arm64/emulated.sh"

with_private_mounts "$@"
make_arm_debian
emulate
[ $# -gt 0 ] || set -- tests/extension/test_sql_regression.py
# shellcheck disable=SC2016
in_arm_source sh -c 'make install venv && exec .venv/bin/pytest "$@"' sh "$@"
