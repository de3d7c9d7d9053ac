#!/usr/bin/env bash
# Builds this engine's C library into .build/gbtrees_c, which takes a minute the first time.
set -euo pipefail
cd "$(dirname "$0")/../../../extension"
CARGO_TARGET_DIR=../.build/gbtrees_c cargo build --quiet --locked --release -p gbtrees_c
