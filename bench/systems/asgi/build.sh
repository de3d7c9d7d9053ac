#!/usr/bin/env bash
# Builds this engine's C library into .build/gbtrees_c, which takes a minute the first time.
set -euo pipefail
. "$(dirname "$0")/../../../tools/toolchain/env.sh"
cd "$root/extension"
cargo build --quiet --locked --release -p gbtrees_c
put_into "$root/.build/gbtrees_c" 755 "$built/libgbtrees_c.so"
