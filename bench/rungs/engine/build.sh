#!/usr/bin/env bash
# Builds the engine's own loop, an example of its C library, into .build/gbtrees_c.
set -euo pipefail
cd "$(dirname "$0")/../../../extension"
CARGO_TARGET_DIR=../.build/gbtrees_c cargo build --quiet --locked --release -p gbtrees_c --example in_process
