#!/usr/bin/env bash
# Builds the service into .build/rungs.
set -euo pipefail
cd "$(dirname "$0")/../.."
go build -o ../.build/rungs/go_fresh ./rungs/go_fresh
