#!/usr/bin/env bash
# Makes the Go of rungs/predictor.proto, by protoc and the plugins that go.mod pins, into predictor/.
set -euo pipefail
cd "$(dirname "$0")/.."
plugins=$(cd .. && pwd)/.build/go-plugins
mkdir -p "$plugins" caller/predictor
go build -o "$plugins/" google.golang.org/protobuf/cmd/protoc-gen-go google.golang.org/grpc/cmd/protoc-gen-go-grpc
PATH=$plugins:$PATH protoc --proto_path=rungs --go_out=. --go_opt=module=pgboost/bench \
    --go-grpc_out=. --go-grpc_opt=module=pgboost/bench predictor.proto
