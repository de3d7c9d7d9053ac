#!/usr/bin/env bash
# Builds the service into .build/axum, which takes a minute the first time.
set -euo pipefail
. "$(dirname "$0")/../../../tools/toolchain/env.sh"
cd "$(dirname "$0")"
# Where root has built it (bench/provision), others may have no cargo.
if ! command -v cargo >/dev/null && [ -x "$root/.build/axum/release/axum_service" ]; then exit; fi
# cargo would look for make's job server there, which make -j hands to no command but itself.
unset MAKEFLAGS MFLAGS
say "building the service in Rust"
CARGO_TARGET_DIR=$root/.build/axum cargo build --quiet --locked --release
