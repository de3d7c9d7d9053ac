#!/usr/bin/env bash
# Completes the files of a release: release.sh VERSION DIRECTORY, where the packages are already.
# It adds the sources, the bills of materials (CycloneDX) and SHA256SUMS.
set -euo pipefail
cd "$(dirname "$0")/.."

version=$1
directory=$2
make sbom
cp .build/sbom/*.json "$directory"
git archive --format=tar.gz --prefix="pgboost-$version/" -o "$directory/pgboost-$version.tar.gz" HEAD
cd "$directory"
sha256sum -- * >SHA256SUMS
