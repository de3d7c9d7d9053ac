#!/usr/bin/env bash
# Builds both extensions in release mode and puts them into the PostgreSQL that PG_CONFIG names, with
# what pgboost_train trains with: the program pgboost_trainer, and libxgboost.
#
# The build is skipped when no source changed since, and what is installed is still what was built
# here: another clone may have installed its own over it.
set -euo pipefail
. "$(dirname "$0")/ground.sh"

major=$(postgres_major)
libraries=$("$pg_config" --pkglibdir)
scripts=$("$pg_config" --sharedir)/extension
built=${CARGO_TARGET_DIR:-$root/extension/target}/release
stamp=$root/.build/installed-pg$major
extensions=(pgboost pgboost_train)
trainer=$libraries/pgboost_train/pgboost_trainer

sources_newer_than_stamp() {
    find "$root/extension" -path "$root/extension/target" -prune -o -type f \
        \( -name '*.rs' -o -name '*.sql' -o -name '*.toml' -o -name '*.control' -o -name Cargo.lock \) \
        -newer "$stamp" -print -quit
}

installed_as_built() {
    local extension
    for extension in "${extensions[@]}"; do
        cmp -s "$built/lib$extension.so" "$libraries/$extension.so" || return 1
    done
    cmp -s "$built/pgboost_trainer" "$trainer"
}

if [ -f "$stamp" ] && [ -z "$(sources_newer_than_stamp)" ] && installed_as_built; then
    say "pgboost is already installed in PostgreSQL $major"
    exec "$root/toolchain/libxgboost.sh"
fi

for directory in "$libraries" "$scripts"; do
    [ -w "$directory" ] ||
        die "cannot write to $directory" \
            "run this as root, or set PG_CONFIG to the pg_config of a PostgreSQL of your own"
done

say "building pgboost and installing it into PostgreSQL $major"
mkdir -p "$root/.build"
started=$(mktemp "$root/.build/started.XXXXXX")
for extension in "${extensions[@]}"; do
    cd "$root/extension/$extension"
    "$root/toolchain/pgrx.sh" install --release --no-default-features --features "pg$major" --pg-config "$pg_config"
done
cd "$root/extension"
cargo build --quiet --locked --release -p pgboost_trainer
mkdir -p "$(dirname "$trainer")"
# A program that is running is replaced, not written over.
cp "$built/pgboost_trainer" "$trainer.new"
chmod 755 "$trainer.new"
mv -f "$trainer.new" "$trainer"
# The stamp bears the time at which the build began: what is edited meanwhile is newer.
mv "$started" "$stamp"
"$root/toolchain/libxgboost.sh"
