#!/usr/bin/env bash
# Puts grpcio, pinned, and what protoc says of predictor.proto into .build/rungs.
set -euo pipefail
cd "$(dirname "$0")"
built=../../../.build/rungs
mkdir -p "$built"
protoc --proto_path=.. --descriptor_set_out="$built/predictor.descriptors" predictor.proto
cmp -s requirements.txt "$built/grpc/pinned.txt" && exit 0
rm -rf "$built/grpc"
../../../.venv/bin/pip install --quiet --disable-pip-version-check --no-deps --require-hashes \
    --target "$built/grpc" -r requirements.txt
cp requirements.txt "$built/grpc/pinned.txt"
