#!/usr/bin/env bash
# Readies a container of the official image postgres:N-bookworm, or a Debian, for a job: the packages that the
# build and the tests need for PostgreSQL N, and rustup, which fetches what rust-toolchain.toml names.
# usage: prepare.sh N [PACKAGE...]
set -euo pipefail

major=$1
shift
apt-get update -q
apt-get install -y -q --no-install-recommends build-essential ca-certificates clang curl git libclang-dev libicu-dev \
    "postgresql-$major" "postgresql-server-dev-$major" python3-pip python3-venv "$@"
curl --proto '=https' --tlsv1.2 --silent --show-error --fail https://sh.rustup.rs |
    sh -s -- -y --quiet --profile minimal --default-toolchain none
echo "$HOME/.cargo/bin" >>"$GITHUB_PATH"
git config --global --add safe.directory "$PWD"
