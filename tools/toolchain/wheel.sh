#!/usr/bin/env bash
# Builds the engine's wheel into .build/wheel, and unpacks it into .build/gbtrees, where tests and the comparison
# import it. `wheel.sh test` then tests it in a fresh environment, with NumPy and pytest alone.
#
# With PLATFORM, such as manylinux_2_28, the wheel is one for others, which may be published: the linker
# must then find no newer C library, as in the image of that name.
set -euo pipefail
. "$(dirname "$0")/env.sh"
cd "$root"

python=${PYTHON:-python3}
pinned=tools/toolchain/wheel.txt
maturin=.build/maturin
if ! cmp -s "$pinned" "$maturin/pinned.txt"; then
    mkdir -p .build
    "$python" -m venv "$maturin"
    "$maturin/bin/pip" install --quiet --disable-pip-version-check --require-hashes -r "$pinned"
    cp "$pinned" "$maturin/pinned.txt"
fi

# cargo would look for make's job server there, which make -j hands to no command but itself.
unset MAKEFLAGS MFLAGS
say "building the engine's wheel"
new=$(mktemp -d .build/wheel.XXXXXX)
trap 'rm -rf "$new"' EXIT
"$maturin/bin/maturin" build --quiet --release --locked --manifest-path extension/gbtrees_python/Cargo.toml \
    --interpreter "$python" --out "$new/wheel" --compatibility "${PLATFORM:-linux}"
"$python" -m zipfile -e "$new"/wheel/*.whl "$new/gbtrees"
# An equal build stays in place, since tests may run with it.
if ! diff -rq -x __pycache__ "$new/gbtrees" .build/gbtrees >/dev/null 2>&1; then
    rm -rf .build/wheel .build/gbtrees
    mv "$new/wheel" "$new/gbtrees" .build
fi

if [ "${1:-}" = test ]; then
    say "testing the wheel in a fresh environment"
    fresh=.build/fresh
    rm -rf "$fresh"
    "$python" -m venv "$fresh"
    readarray -t needed < <(grep -oE '^(iniconfig|numpy|packaging|pluggy|pygments|pytest)==[^ ]+' tools/toolchain/requirements.txt)
    "$fresh/bin/pip" install --quiet --disable-pip-version-check --no-deps "${needed[@]}"
    "$fresh/bin/pip" install --quiet --disable-pip-version-check --no-index .build/wheel/*.whl
    "$fresh/bin/pytest" --noconftest -o pythonpath=. -q tests/gbtrees/test_wheel.py
fi
