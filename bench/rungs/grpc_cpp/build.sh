#!/usr/bin/env bash
# Builds the service into .build/rungs/grpc_cpp, with Debian's gRPC and the libxgboost that pgboost_train pins.
set -euo pipefail
cd "$(dirname "$0")"
root=$(cd ../../.. && pwd)
built=$root/.build/rungs/grpc_cpp
xgboost=$root/.build/xgboost/xgboost/lib
mkdir -p "$built"
program=$built/predictor
[ "$program" -nt predictor.cc ] && [ "$program" -nt ../predictor.proto ] && [ "$program" -nt build.sh ] && exit 0
# The name that the library calls itself by, which its wheel lacks.
ln -sf libxgboost.so "$xgboost/libxgboost.so.3"
protoc --proto_path=.. --cpp_out="$built" --grpc_out="$built" \
    --plugin=protoc-gen-grpc="$(command -v grpc_cpp_plugin)" predictor.proto
read -ra flags < <(pkg-config --cflags --libs grpc++ protobuf)
g++ -std=c++17 -O2 -I"$built" predictor.cc "$built"/predictor.pb.cc "$built"/predictor.grpc.pb.cc \
    -L"$xgboost" -lxgboost -Wl,-rpath,"$xgboost" "${flags[@]}" -o "$program"
