#!/usr/bin/env bash
# Builds the engine's own loop, an example of its C library, into .build/gbdt_c.
set -euo pipefail
cd "$(dirname "$0")/../../../extension"
CARGO_TARGET_DIR=../.build/gbdt_c cargo build --quiet --locked --release -p gbdt_c --example in_process
