#!/usr/bin/env bash
# Tests the Python package with the releases of newest.txt, in a virtual environment below .build, by the Python
# that is named, or python3.12:
#
#     tests/python/newest.sh [PYTHON]
set -euo pipefail
. "$(dirname "$0")/../../tools/toolchain/env.sh"

cd "$root"
venv=.build/newest
tests=(tests/python/test_{ordinary,frames,fuzz,messages,push,check}.py)

say "tests with the newest releases of the libraries"
[ -d "$venv" ] || "${1:-python3.12}" -m venv "$venv"
"$venv/bin/pip" install --quiet --requirement tests/python/newest.txt
"$venv/bin/pytest" -n 2 --dist loadfile -p no:cacheprovider "${tests[@]}"
