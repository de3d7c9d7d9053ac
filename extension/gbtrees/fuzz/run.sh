#!/usr/bin/env bash
# Runs fuzz targets, seeded with the golden models: run.sh SECONDS_PER_TARGET [TARGET...]
#
# The engine's targets are here; those for the extensions' arguments are in extension/fuzz, which builds with
# PostgreSQL's headers (PGRX_PG_CONFIG_PATH, and PG_FEATURE unless it is pg15) and runs without a server.
# libFuzzer runs with debug assertions, overflow checks and AddressSanitizer, which takes more than half of the
# time; SANITIZER=none leaves it out. Needs a nightly toolchain for instrumentation, but not cargo-fuzz, which
# finds the same targets.
# Comparisons are not traced, nor inputs weighed by what is rare: each took a third of the time (perf).
# Most inputs of files are made by mutations that keep their structure (fuzz_targets/mutation); with
# PLAIN_MUTATIONS=1 none is. The last line of a run has the edges that it covered. What it learns stays in
# corpus/. An input that fails is left in found/ and belongs into a test.
set -euo pipefail
cd "$(dirname "$0")"
seconds=$1
shift
engine=(catboost image lightgbm onnx rows sql tree_ensemble xgboost)
calls=(messages names numeric parameters)
targets=("$@")
[ $# -gt 0 ] || targets=("${engine[@]}" "${calls[@]}")
RUSTFLAGS="--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table"
sanitizer=${SANITIZER:-address}
[ "$sanitizer" = none ] || RUSTFLAGS+=" -Zsanitizer=$sanitizer"
built=target/$sanitizer
# Of each format and each kind of tree some golden models are as short, and one with target statistics; longer
# inputs take longer and show no more. With LONGEST=3000 shorter ones, which take less and show less, have a
# corpus apart: libFuzzer cuts what is longer.
MAX_FILE=${LONGEST:-10000}
# Calls, and rows of programs.
MAX_CALL=256
# Keeping freed memory for longer, filling it and noting where it came from took a sixth of the time. An input that
# fails is run again with other options to see that.
# libFuzzer itself is not what is looked at.
export CXXFLAGS=-fno-sanitize=address
export ASAN_OPTIONS=malloc_context_size=0:max_malloc_fill_size=0:quarantine_size_mb=1:detect_stack_use_after_return=0

# seed TARGET CORPUS: puts the golden models that the target's reader reads there; others need none. Those of
# SQL have a byte before.
seed() {
    local file seeds
    seeds=$(mktemp -d)
    case $1 in
    catboost | lightgbm | onnx | xgboost) tar -xf "../tests/golden/$1.tar.xz" -C "$seeds" ;;
    tree_ensemble) cp -r "../tests/golden/$1" "$seeds" ;;
    sql)
        for archive in ../tests/golden/*.tar.xz; do tar -xf "$archive" -C "$seeds"; done
        cp -r ../tests/golden/tree_ensemble "$seeds"
        ;;
    esac
    (cd "$seeds" && find . -type f ! -name '*.expected.json' -size -"$MAX_FILE"c -printf '%P\n') | while read -r file; do
        { [ "$1" != sql ] || printf 0; cat "$seeds/$file"; } >"$2/$(tr / _ <<<"$file")"
    done
    rm -r "$seeds"
}

build() {
    cargo +nightly build --quiet --locked --release --target x86_64-unknown-linux-gnu \
        --target-dir "$built" "$@"
}

# run TARGET LONGEST CORPUS
run() {
    local target=$1 longest=$2 corpus=corpus/$3
    mkdir -p found "$corpus"
    seed "$target" "$corpus"
    echo "==> $target"
    "$built/x86_64-unknown-linux-gnu/release/$target" -max_total_time="$seconds" -max_len="$longest" \
        -timeout=2 -rss_limit_mb=512 -reload=0 -entropic=0 -print_funcs=0 -print_final_stats=1 \
        -artifact_prefix="found/$target-" "$corpus" 2>&1 |
        grep -vE '^INFO|^"|^#####|^#[0-9]+\s+(INITED|NEW|REDUCE|pulse|READ)'
}

for target in "${targets[@]}"; do
    if [[ " ${calls[*]} " == *" $target "* ]]; then
        # The server's functions, which pgrx names, are not called.
        (cd ../../fuzz && export RUSTFLAGS="$RUSTFLAGS -Clink-arg=-Wl,--unresolved-symbols=ignore-all" &&
            build --no-default-features --features "pg_interface/${PG_FEATURE:-pg15}" --bin "$target" && run "$target" "$MAX_CALL" "$target")
    else
        longest=$MAX_FILE
        [ "$target" != rows ] || longest=$MAX_CALL
        (export RUSTFLAGS && build --bin "$target" && run "$target" "$longest" "$target${LONGEST:+-$LONGEST}")
    fi
done
