#!/usr/bin/env bash
# Changes the code in small ways, one at a time, in a copy of the repository, and runs the tests, one of which
# must fail (cargo-mutants): mutants.sh [PATTERN...]
#
# A pattern names files below extension/: gbtrees/src/lower/order.rs, or 'pgboost/src/features/*'. Without one
# these are the engine's lower, format and explain, and the extension's features, cache and registry, of whose
# changes SHARD, 0/100 then, takes one in a hundred; 0/1 takes all. The unit tests run first, for which alone
# little is built; after those that notice nothing, TESTS run: for the engine arguments of cargo test (the other
# tests), and for the extension files of pytest, on a separate PostgreSQL 18 (SQL regression, and of lifecycle
# images and changes). What no test noticed is in .build/mutants/*/mutants.out/missed.txt.
set -euo pipefail
. "$(dirname "$0")/env.sh"
cd "$root"

place=$root/.build/mutants
copy=$place/sources
runner=CARGO_TARGET_$(rustc -vV | sed -n 's/^host: //p' | tr 'a-z-' 'A-Z_')_RUNNER

# Files get the time of now: cargo takes a file that is older than what it built for unchanged.
copy_sources() {
    rm -rf "$copy.new"
    mkdir -p "$copy.new"
    git ls-files -z --cached --others --exclude-standard | xargs -0 ls -d 2>/dev/null |
        tar -c --files-from=- | tar -x -m -C "$copy.new"
    ln -s "$root/.venv" "$copy.new/.venv"
    [ ! -d "$copy/.build" ] || mv "$copy/.build" "$copy.new"
    rm -rf "$copy"
    mv "$copy.new" "$copy"
}

# mutate PACKAGE COMMAND OPTION... -- PATTERN...: the command follows unit tests that pass; options are
# cargo-mutants'. A change that ends no test within TIMEOUT seconds (900) counts as noticed.
mutate() {
    local package=$1 options=()
    # The command's own tests of cargo come here again. To end at the first failure is unstable in Rust's tests.
    cat >"$place/run" <<RUN
#!/usr/bin/env bash
set -e
RUSTC_BOOTSTRAP=1 "\$@" -Zunstable-options --fail-fast
[ -z "\${AFTER_UNIT_TESTS:-}" ] || exit 0
export AFTER_UNIT_TESTS=yes
cd "$copy"
$2
RUN
    chmod +x "$place/run"
    shift 2
    while [ "$1" != -- ]; do options+=("$1"); shift; done
    shift
    env "$runner=$place/run" "$root/.build/cargo/bin/cargo-mutants" mutants --dir "$copy/extension" --in-place \
        --package "$package" --test-workspace=false --output "$place/$package" --profile=release --cargo-arg=--lib \
        --timeout="${TIMEOUT:-900}" --no-times --sharding=round-robin ${SHARD:+--shard "$SHARD"} \
        "${@/#/--file=}" "${options[@]}"
}

engine=() extension=()
if [ $# -eq 0 ]; then
    set -- 'gbtrees/src/'{lower,format,explain}'/**' 'pgboost/src/'{features,cache,registry}'/**'
    SHARD=${SHARD:-0/100}
fi
for pattern; do
    case $pattern in
    gbtrees/*) engine+=("$pattern") ;;
    pgboost/*) extension+=("$pattern") ;;
    *) die "not a file of the engine or of pgboost: $pattern" ;;
    esac
done

tools/toolchain/cargo_program.sh cargo-mutants
copy_sources
export CARGO_TARGET_DIR=$place/target CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_OPT_LEVEL=1
export CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS=true
export CARGO_PROFILE_RELEASE_OVERFLOW_CHECKS=true CARGO_INCREMENTAL=1
unset MAKEFLAGS MFLAGS
failed=0
if [ ${#engine[@]} -gt 0 ]; then
    # Examples, which a test runs, are built with all programs only.
    tests=${TESTS:---test engine -- --skip library::examples_run}
    mutate gbtrees "cd extension; cargo test --quiet --locked --release -p gbtrees $tests" -- "${engine[@]}" ||
        failed=$?
fi
if [ ${#extension[@]} -gt 0 ]; then
    PG_CONFIG=$(tools/toolchain/postgres.sh 18)
    export PG_CONFIG PGRX_PG_CONFIG_PATH=$PG_CONFIG
    lifecycle=tests/extension/lifecycle
    tests=${TESTS:-tests/extension/test_sql_regression.py $lifecycle/test_image.py $lifecycle/test_changes_seen.py}
    mutate pgboost "tools/toolchain/install.sh; .venv/bin/pytest -q -x $tests" \
        --no-default-features --features=pgboost/pg18 -- "${extension[@]}" || failed=$?
fi
exit "$failed"
