#!/usr/bin/env bash
# Undoes fixes, one at a time, in a copy of the sources, and runs the test that each left: it must fail.
#
#     tests/fixes/run.sh [NAME...]
#
# A patch undoes one fix. What precedes it says what was wrong and names the test: of a crate, which cargo
# runs (cargo: a unit test, engine: one in the engine's tests/), or of a server, which pytest runs, with
# libraries that are built quickly and not optimised. The server is a PostgreSQL 18, the same with Citus
# (built from CITUS_SOURCE), or a PostgreSQL 15 with assertions. Before any patch the tests pass: what fails
# then, fails for want of the fix. The copy and its servers are in .build/fixes, so that no other server gets
# such a library.
set -euo pipefail
cd "$(dirname "$0")/../.."
. toolchain/ground.sh

names=("$@")
[ $# -gt 0 ] || names=($(basename -s .patch tests/fixes/*.patch))
copy=$root/.build/fixes/sources
output=$root/.build/fixes/output.txt
export CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_OPT_LEVEL=1 CARGO_INCREMENTAL=1
unset MAKEFLAGS MFLAGS

# use PG_CONFIG: builds for that server, each version in a separate directory. Without a server it ends the
# script, which would install into the machine's otherwise.
use() {
    [ -n "$1" ] || exit 1
    pg_config=$1
    export PG_CONFIG=$1 PGRX_PG_CONFIG_PATH=$1
    CARGO_TARGET_DIR=$root/.build/fixes/target-$(postgres_major)
    export CARGO_TARGET_DIR
}

# Files get the time of now: cargo takes a file that is older than what it built for unchanged.
copy_sources() {
    rm -rf "$copy.new"
    mkdir -p "$copy.new"
    git ls-files -z --cached --others --exclude-standard | tar -c --null --files-from=- | tar -x -m -C "$copy.new"
    [ ! -d "$copy/.build" ] || mv "$copy/.build" "$copy.new"
    rm -rf "$copy"
    mv "$copy.new" "$copy"
}

test_of() { sed -n 's/^Test: //p' "tests/fixes/$1.patch"; }

# Says whether the test passed or failed; ends the script where it was not run.
verdict() {
    local kind where name
    read -r kind where name <<<"$1"
    cd "$copy"
    case $kind in
    cargo | engine)
        local options=(--lib)
        [ "$kind" != engine ] || options=(--test engine)
        # Of those that bind the server's headers, those of 18.
        ! grep -q '^pg18 = ' "extension/$where/Cargo.toml" ||
            options+=(--no-default-features --features "$where/pg18")
        (cd extension && cargo test --quiet --locked -p "$where" "${options[@]}" "$name" -- --exact) >"$output" 2>&1 || true
        if grep -q '^test result: ok. 1 passed' "$output"; then echo passed; return; fi
        ! grep -qE '^test result: FAILED. 0 passed; 1 failed|^memory allocation of [0-9]+ bytes failed' "$output" || { echo failed; return; }
        ;;
    pytest | citus | assertions)
        [ "$kind" != assertions ] || use "$(toolchain/postgres_assertions.sh)"
        { { [ "$kind" != citus ] || toolchain/citus.sh; } && toolchain/install.sh; } >"$output" 2>&1 ||
            die "the extensions are not built" "see $output"
        "$root/.venv/bin/pytest" -q "$where" >"$output" 2>&1 || true
        if tail -n 1 "$output" | grep -qE '^[0-9]+ passed(, [0-9]+ warnings?)? in'; then echo passed; return; fi
        ! tail -n 1 "$output" | grep -qE '^[0-9]+ failed' || { echo failed; return; }
        ;;
    esac
    die "not run: $1" "see $output"
}

# Undoes a fix in the copy, or with --reverse makes it again.
change() { GIT_CEILING_DIRECTORIES=$root/.build/fixes git -C "$copy" apply -p0 "${@:2}" "$root/tests/fixes/$1.patch"; }

# ensure VERDICT NAME
ensure() {
    local found
    found=$(verdict "$(test_of "$2")")
    [ "$found" = "$1" ] || die "$2: its test $found" "$(test_of "$2")"
}

copy_sources
use "$("$copy/toolchain/postgres.sh" 18)"

for name in "${names[@]}"; do ensure passed "$name"; done
for name in "${names[@]}"; do
    change "$name"
    ensure failed "$name"
    change "$name" --reverse
    say "$name: its test fails without it"
done
say "${#names[@]} fixes were undone, and the test of each failed"
