#!/usr/bin/env bash
# Builds the delay line of `bench/run --topology split` into .build/.
set -euo pipefail
. "$(dirname "$0")/../../tools/toolchain/env.sh"

source=$root/bench/delay_line/delay_line.c
program=$root/.build/delay_line
[ ! "$program" -nt "$source" ] || exit 0

command -v cc >/dev/null || die "no C compiler found" "install one, on Debian: apt-get install build-essential"
mkdir -p "$root/.build"
cc -std=gnu11 -O2 -Wall -Wextra -Werror -o "$program.new" "$source"
mv -f "$program.new" "$program"
