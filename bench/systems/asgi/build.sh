#!/usr/bin/env bash
# Builds this engine's wheel into .build/gbtrees, which takes a minute the first time.
set -euo pipefail
exec "$(dirname "$0")/../../../tools/toolchain/wheel.sh"
