#!/usr/bin/env bash
# Builds the service into .build/axum, which takes a minute the first time.
set -euo pipefail
. "$(dirname "$0")/../../../tools/toolchain/env.sh"
cd "$(dirname "$0")"
CARGO_TARGET_DIR=$root/.build/axum cargo build --quiet --locked --release
