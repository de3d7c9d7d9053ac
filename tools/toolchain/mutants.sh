#!/usr/bin/env bash
# Changes the code in small ways, one at a time, in a copy of the repository, and runs the tests, one of which
# must fail (cargo-mutants): mutants.sh [PATTERN...]
#
# A pattern names files below extension/: gbtrees/src/lower/order.rs, or 'pgboost/src/features/*'. Without one
# these are the engine's lower, format and explain, and the extension's features, cache and registry. TESTS are
# arguments of cargo test for the engine (all of its tests), and files of pytest for the extension, which run on
# a separate PostgreSQL 18 (SQL regression). SHARD=1/20 takes a part of the changes. What no test noticed is
# in .build/mutants/*/mutants.out/missed.txt.
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

# mutate PACKAGE OPTION... -- PATTERN...: options are cargo-mutants'.
mutate() {
    local package=$1 options=()
    shift
    while [ "$1" != -- ]; do options+=("$1"); shift; done
    shift
    "$root/.build/cargo/bin/cargo-mutants" mutants --dir "$copy/extension" --in-place --package "$package" \
        --test-workspace=false --output "$place/$package" --no-times ${SHARD:+--shard "$SHARD"} \
        "${@/#/--file=}" "${options[@]}"
}

# The extension's unit tests run without a server, so the server's tests follow.
write_runner() {
    cat >"$place/run" <<RUN
#!/usr/bin/env bash
set -e
"\$@"
cd "$copy"
tools/toolchain/install.sh
.venv/bin/pytest -q -x ${TESTS:-tests/extension/test_sql_regression.py}
RUN
    chmod +x "$place/run"
}

engine=() extension=()
[ $# -gt 0 ] || set -- 'gbtrees/src/'{lower,format,explain}'/**' 'pgboost/src/'{features,cache,registry}'/**'
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
export CARGO_INCREMENTAL=1 CARGO_PROFILE_DEV_DEBUG=none
unset MAKEFLAGS MFLAGS
failed=0
if [ ${#engine[@]} -gt 0 ]; then
    # Which programs are built, by options; the names of tests follow. Examples are built with all programs only.
    programs=() tests=()
    for word in ${TESTS:---lib --test=engine}; do
        case $word in -*) programs+=(--cargo-arg="$word") ;; *) tests+=(--cargo-test-arg="$word") ;; esac
    done
    tests+=(--cargo-test-arg=-- --cargo-test-arg=--skip=library::examples_run)
    mutate gbtrees --profile=release "${programs[@]}" "${tests[@]}" -- "${engine[@]}" || failed=$?
fi
if [ ${#extension[@]} -gt 0 ]; then
    PG_CONFIG=$(tools/toolchain/postgres.sh 18)
    export PG_CONFIG PGRX_PG_CONFIG_PATH=$PG_CONFIG
    write_runner
    export "$runner=$place/run"
    mutate pgboost --cargo-arg=--lib --no-default-features --features=pgboost/pg18 -- "${extension[@]}" || failed=$?
fi
exit "$failed"
