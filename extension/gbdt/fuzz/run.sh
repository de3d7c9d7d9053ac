#!/usr/bin/env bash
# Runs fuzz targets, each for so many seconds, from the golden models on: run.sh SECONDS [TARGET...]
#
# libFuzzer with AddressSanitizer, debug assertions and overflow checks. It needs a nightly toolchain,
# whose compiler instruments; cargo-fuzz is not needed, but finds the same targets.
# Comparisons are not traced, nor inputs weighed by what is rare: each took a third of the time (perf).
# What it learns stays in corpus/. An input that fails is left in found/ and belongs into a test.
set -euo pipefail
cd "$(dirname "$0")"
seconds=$1
shift
targets=("$@")
[ $# -gt 0 ] || targets=(catboost image lightgbm onnx xgboost)
export RUSTFLAGS="--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table -Zsanitizer=address"
built=target/x86_64-unknown-linux-gnu/release
# Of each format and each kind of tree some golden models are as short; longer inputs take longer and show no more.
LONGEST=7500
# Little is freed while an input is checked, so that a short memory of what was freed will do.
export ASAN_OPTIONS=malloc_context_size=2:quarantine_size_mb=8:detect_stack_use_after_return=0

# The golden models that the target's reader reads; images need none, since the target makes its own.
seeds() {
    case $1 in
    image) ;;
    xgboost) find ../tests/golden/[0-9]* -type f ! -name '*.expected.json' -size -"$LONGEST"c ;;
    *) find ../tests/golden/"$1" -type f ! -name '*.expected.json' -size -"$LONGEST"c ;;
    esac
}

cargo +nightly build --quiet --locked --release --target x86_64-unknown-linux-gnu
mkdir -p found
for target in "${targets[@]}"; do
    mkdir -p "corpus/$target"
    seeds "$target" | while read -r file; do cp -n "$file" "corpus/$target/$(tr / _ <<<"${file#../tests/golden/}")"; done
    echo "==> $target"
    $built/"$target" -max_total_time="$seconds" -max_len=$LONGEST -timeout=10 -rss_limit_mb=2048 -reload=0 \
        -artifact_prefix="found/$target-" -entropic=0 -print_funcs=0 -verbosity=0 -print_final_stats=1 "corpus/$target" 2>&1 |
        grep -vE '^INFO|^"|^#####'
done
