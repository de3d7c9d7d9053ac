#!/usr/bin/env bash
# Builds pgboost's library for profile-guided optimisation, without installing it.
#
#     toolchain/profiled.sh generate LIBRARY              one that counts what it executes
#     toolchain/profiled.sh merge DIRECTORY PROFILE       one profile of what such libraries wrote
#     toolchain/profiled.sh use PROFILE LIBRARY           one optimised by a profile
#
# The same sources, features and release profile as toolchain/install.sh builds, in a target directory of its own.
# The target is named, though it is this machine, so that cargo leaves build scripts and macros as they are.
set -euo pipefail
. "$(dirname "$0")/ground.sh"

target=$(rustc -vV | sed -n 's/^host: //p')
built=$root/.build/pgo/target/$target/release/libpgboost.so

build() {
    local library=$1 flag=$2 as_pgrx_does='-Clink-arg=-Wl,--no-gc-sections'
    # Flags are kept apart by a character that no path holds.
    (
        cd "$root/extension"
        CARGO_ENCODED_RUSTFLAGS=$flag$'\x1f'$as_pgrx_does cargo build --quiet --locked --release \
            -p pgboost --lib --no-default-features --features "pgboost/pg$(postgres_major)" \
            --target "$target" --target-dir "$root/.build/pgo/target"
    )
    # Renamed, not copied over: a server may still have the old one mapped.
    cp "$built" "$library.new"
    mv "$library.new" "$library"
}

merge() {
    local directory=$1 profile=$2 profdata raw
    mapfile -t raw < <(find "$directory" -name '*.profraw' -size +0)
    [ ${#raw[@]} -gt 0 ] || die "no profile was written into $directory" \
        "the instrumented library writes one when a backend ends: see the server's log"
    profdata=$("$root/toolchain/llvm_profdata.sh")
    "$profdata" merge -o "$profile" "${raw[@]}"
    "$profdata" show "$profile" | grep '^Total'
}

case "${1:-} $#" in
"generate 2")
    # Where a process writes its counts unless LLVM_PROFILE_FILE says another place.
    build "$2" "-Cprofile-generate=$root/.build/pgo/stray"
    ;;
"merge 3") merge "$2" "$3" ;;
"use 3") build "$3" "-Cprofile-use=$(realpath "$2")" ;;
*) die "usage: $0 generate LIBRARY | merge DIRECTORY PROFILE | use PROFILE LIBRARY" ;;
esac
