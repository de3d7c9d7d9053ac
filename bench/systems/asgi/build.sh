#!/usr/bin/env bash
# Builds this engine's wheel into .build/gbtrees, which takes a minute the first time.
set -euo pipefail
cd "$(dirname "$0")/../../.."
# Where root has built it (bench/provision), others may have no cargo.
if ! command -v cargo >/dev/null && [ -d .build/gbtrees ]; then exit; fi
exec tools/toolchain/wheel.sh
