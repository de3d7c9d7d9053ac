#!/bin/sh
# Runs a fuzz target for so many seconds, from the golden models on: run.sh TARGET SECONDS
#
# Needs a nightly toolchain, whose compiler instruments; cargo-fuzz is not needed, but finds the same targets.
# Inputs that fail are left in found/ and belong into a test.
set -eu
cd "$(dirname "$0")"
target=$1 seconds=$2
export RUSTFLAGS="--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
 -Cllvm-args=-sanitizer-coverage-trace-compares -Zsanitizer=address"
mkdir -p "corpus/$target" found
cargo +nightly run --locked --release --target x86_64-unknown-linux-gnu --bin "$target" -- \
    -max_total_time="$seconds" -max_len=20000 -artifact_prefix=found/ \
    "corpus/$target" ../tests/golden/"$target"/*/
