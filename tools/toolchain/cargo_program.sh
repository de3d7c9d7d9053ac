#!/usr/bin/env bash
# Builds programs out of crates.io into .build/cargo, each in the release below: cargo_program.sh NAME...
# Does nothing for those that are there.
set -euo pipefail
. "$(dirname "$0")/env.sh"

# Two that look at dependencies, and one that changes the code to try the tests.
declare -A releases=([cargo-deny]=0.20.2 [cargo-cyclonedx]=0.5.9 [cargo-mutants]=27.1.0)

for name in "$@"; do
    release=${releases[$name]}
    if grep -qs "^\"$name $release " "$root/.build/cargo/.crates.toml" && [ -x "$root/.build/cargo/bin/$name" ]; then
        continue
    fi
    say "building $name $release, which takes some minutes"
    # None of them must be fast.
    CARGO_PROFILE_RELEASE_OPT_LEVEL=0 \
        cargo install --quiet --locked --root "$root/.build/cargo" --version "=$release" "$name"
done
