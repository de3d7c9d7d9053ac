#!/usr/bin/env bash
# Checks that the engine does not compile where it would be wrong, for a 32-bit and for a big-endian machine,
# and that it does for aarch64, whose kernel no other machine compiles.
# Needs a nightly Rust with rust-src, of which it builds the standard library for those machines.
set -euo pipefail
cd "$(dirname "$0")"

check() {
    cargo +nightly check --quiet --locked --lib -Z build-std=std --target "$1" --target-dir ../target/refused
}

check aarch64-unknown-linux-gnu
echo "==> aarch64-unknown-linux-gnu compiles"
for target in i686-unknown-linux-gnu s390x-unknown-linux-gnu; do
    errors=$(check "$target" 2>&1) && status=0 || status=$?
    if [ "$status" = 0 ] || ! grep -q '^error: files and compiled models are read .* 64-bit little-endian machines alone' <<<"$errors"; then
        printf 'error: %s is not refused\n%s\n' "$target" "$errors" >&2
        exit 1
    fi
    echo "==> $target is refused"
done
