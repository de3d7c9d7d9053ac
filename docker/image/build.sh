#!/usr/bin/env bash
# Builds the image pgboost:N: the official image of PostgreSQL N, its entry point and variables, with both extensions.
#
#     docker/image/build.sh N [ARGUMENT...]     arguments go to docker build
#     docker run -e POSTGRES_PASSWORD=secret -p 5432:5432 pgboost:N
set -euo pipefail
cd "$(dirname "$0")/../.."

major=${1:?usage: docker/image/build.sh N [ARGUMENT...]}
shift
# The default of newer engines.
export DOCKER_BUILDKIT=1
docker build -f docker/postgres/Dockerfile --target official --build-arg "PG_MAJOR=$major" \
    --build-arg "POSTGRES_BASE=postgres:$major-bookworm" -t "pgboost:$major" "$@" .
