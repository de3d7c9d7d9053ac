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
    "$python" -m venv "$maturin"
    "$maturin/bin/pip" install --quiet --disable-pip-version-check --require-hashes -r "$pinned"
    cp "$pinned" "$maturin/pinned.txt"
fi

# cargo would look for make's job server there, which make -j hands to no command but itself.
unset MAKEFLAGS MFLAGS
rm -rf .build/wheel
say "building the engine's wheel"
"$maturin/bin/maturin" build --quiet --release --locked --manifest-path extension/gbtrees_python/Cargo.toml \
    --interpreter "$python" --out .build/wheel --compatibility "${PLATFORM:-linux}"
rm -rf .build/gbtrees
"$python" -m pip install --quiet --disable-pip-version-check --no-deps --no-compile --target .build/gbtrees .build/wheel/*.whl

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
