#!/usr/bin/env bash
# Builds oha, which asks the microservice at fixed rates, into .build/cargo; does nothing where it is there.
set -euo pipefail
. "$(dirname "$0")/ground.sh"

wanted=1.16.0
program=$root/.build/cargo/bin/oha

[ "$("$program" --version 2>/dev/null)" != "oha $wanted" ] || exit 0
say "building oha $wanted, which takes some minutes"
cargo install --quiet --locked --root "$root/.build/cargo" --version "=$wanted" oha
