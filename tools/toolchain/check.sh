#!/usr/bin/env bash
# Checks what changed since BASE (HEAD), in two minutes on a warm tree: formatting, clippy, ruff, prose, and the
# unit tests of changed modules.
set -euo pipefail
. "$(dirname "$0")/env.sh"
cd "$root"

base=${BASE:-HEAD}
git rev-parse --quiet --verify "$base^{commit}" >/dev/null || die "BASE names no commit: $base"
readarray -t changed < <({ git diff --name-only --diff-filter=d "$base" && git ls-files --others --exclude-standard; } |
    sort -u)
if [ ${#changed[@]} -eq 0 ]; then
    say "nothing changed since $base"
    exit
fi

# changed_in PATTERN: the changed files whose names match.
changed_in() { printf '%s\n' "${changed[@]}" | grep -E "$1" || true; }

# The changed crates, and for those on PostgreSQL's interface the extensions, which choose its version.
readarray -t crates < <(changed_in '^extension/[^/]+/.*\.(rs|toml)$' | cut -d/ -f2 | sort -u)
packages=()
features=()
for crate in "${crates[@]}"; do
    grep -q "\"$crate\"" extension/Cargo.toml || continue
    case $crate in
    pg_interface | row_source | pgboost | pgboost_train)
        features=(-p pgboost -p pgboost_train --no-default-features)
        features+=(--features "pgboost/pg$(postgres_major),pgboost_train/pg$(postgres_major)")
        ;;
    esac
    packages+=(-p "$crate")
done
if [ ${#packages[@]} -gt 0 ]; then
    quick=(--quiet --locked ${PGBOOST_QUICK:+--release})
    export PGRX_PG_CONFIG_PATH=$pg_config
    say "clippy and unit tests: ${crates[*]}"
    cd extension
    cargo fmt --all --check
    cargo clippy "${quick[@]}" "${packages[@]}" "${features[@]}" --all-targets -- -D warnings
    for crate in "${crates[@]}"; do
        readarray -t modules < <(changed_in "^extension/$crate/src/" | cut -d/ -f4 | sed 's/[.]rs$//; s/$/::/' | sort -u)
        [ ${#modules[@]} -gt 0 ] || continue
        [[ " ${modules[*]} " != *" lib:: "* ]] || modules=()
        cargo test "${quick[@]}" -p "$crate" "${features[@]}" --lib -- "${modules[@]}"
    done
    cd ..
fi

readarray -t python < <(changed_in '\.py$')
if [ ${#python[@]} -gt 0 ]; then
    say "ruff"
    .venv/bin/ruff check --quiet "${python[@]}"
    .venv/bin/ruff format --quiet --check "${python[@]}"
fi

say "prose and pages"
if command -v go >/dev/null; then
    tools/toolchain/prose.sh "${changed[@]}"
else
    say "prose was not checked: no Go is installed"
fi
.venv/bin/pytest -q tests/test_pages.py
