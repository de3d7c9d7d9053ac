#!/usr/bin/env bash
# Builds the load generator vegeta, of the release and with the checksums of vegeta/, as .build/vegeta.
set -euo pipefail
. "$(dirname "$0")/env.sh"

modules=$root/tools/toolchain/vegeta
program=$root/.build/vegeta
[ ! "$program" -nt "$modules/go.sum" ] || exit 0

go=$("$root/tools/toolchain/go.sh")
release=$(sed -n 's#.*tsenart/vegeta/v12 v\([0-9.]*\).*#\1#p' "$modules/go.mod")
say "building vegeta $release"
mkdir -p "$root/.build"
(cd "$modules" && "$go" build -trimpath -buildvcs=false -ldflags "-s -w -X main.Version=$release" \
    -o "$program.new" github.com/tsenart/vegeta/v12)
mv -f "$program.new" "$program"
