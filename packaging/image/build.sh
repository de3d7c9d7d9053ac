#!/usr/bin/env bash
# Builds the image pgboost:N: the official image of PostgreSQL N, its entry point and variables, with both
# extensions.
#
#     packaging/image/build.sh N
#     docker run -e POSTGRES_PASSWORD=secret -p 5432:5432 pgboost:N
#
# POSTGRES_BASE names another image to put them into, and bench/compose/README.md what a special network needs. It is
# built by docker compose, which has BuildKit in it.
set -euo pipefail
cd "$(dirname "$0")/../.."

major=${1:?usage: packaging/image/build.sh N}
export PG_MAJOR=$major POSTGRES_BASE=${POSTGRES_BASE:-postgres:$major-bookworm}
docker compose --profile official build official
