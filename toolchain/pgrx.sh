#!/usr/bin/env bash
# Readies cargo-pgrx, in the version of the pgrx that the extension is built with.
#
# A cargo-pgrx of another version that the user has is left alone: ours then goes into .build/cargo.
# What pgrx remembers (PGRX_HOME) stays in the repository, in .pgrx.
# With arguments, runs cargo pgrx with them.
set -euo pipefail
. "$(dirname "$0")/ground.sh"

wanted=$(sed -n 's/^pgrx = "=\(.*\)"$/\1/p' "$root/extension/pgboost/Cargo.toml")
[ -n "$wanted" ] || die "extension/pgboost/Cargo.toml does not pin pgrx"
export PGRX_HOME=$root/.pgrx
export PATH="$root/.build/cargo/bin:$PATH"
major=$(postgres_major)

# cargo-pgrx colours what it says even where nobody can see it.
pgrx() {
    if [ -t 2 ]; then
        cargo-pgrx pgrx "$@"
    else
        cargo-pgrx pgrx "$@" 2>&1 | sed -u 's/\x1b\[[0-9;]*m//g'
    fi
}

if [ "$(cargo-pgrx pgrx --version 2>/dev/null)" != "cargo-pgrx $wanted" ]; then
    say "building cargo-pgrx $wanted, which takes some minutes"
    cargo install --quiet --locked --root "$root/.build/cargo" --version "=$wanted" cargo-pgrx
fi

if ! grep -qsxF "pg$major = \"$pg_config\"" "$PGRX_HOME/config.toml"; then
    say "telling pgrx of PostgreSQL $major at $pg_config"
    mkdir -p "$PGRX_HOME"
    pgrx init "--pg$major" "$pg_config" >/dev/null
fi

[ $# -eq 0 ] || pgrx "$@"
