#!/usr/bin/env bash
# Builds the program, which is a system of the comparison's.
exec "$(dirname "$0")/../../systems/axum/build.sh"
