#!/usr/bin/env bash
# Builds the caller, and the C library that it calls, into .build/caller; installs protoc where it is missing.
set -euo pipefail
cd "$(dirname "$0")"
root=$(cd ../.. && pwd)
built=$root/.build/caller
. "$root/toolchain/ground.sh"
command -v go >/dev/null || die "no go found" "install Go 1.21 or later, see https://go.dev/dl; it fetches 1.26 itself"
"$root/toolchain/packages.sh" rungs
mkdir -p "$built"
CARGO_TARGET_DIR=$root/.build/gbtrees_c cargo build --quiet --locked --release \
    --manifest-path "$root/extension/Cargo.toml" -p gbtrees_c
./generate.sh
# The name that the library calls itself by, which its wheel lacks.
ln -sf libxgboost.so "$root/.build/xgboost/xgboost/lib/libxgboost.so.3"
libraries=$root/.build/gbtrees_c/release:$root/.build/xgboost/xgboost/lib
CGO_LDFLAGS="-L${libraries/:/ -L} -lgbtrees_c -lxgboost -Wl,-rpath,$libraries" go build -C .. -o "$built/" ./caller
