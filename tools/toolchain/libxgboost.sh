#!/usr/bin/env bash
# Puts libxgboost next to pgboost_train in the PostgreSQL that PG_CONFIG names, in pgboost_train/.
#
# It comes out of XGBoost's own wheel, of the release and with the checksums in libxgboost.txt, and
# keeps the wheel's layout, in which it finds its OpenMP without help. The wheel is unpacked in
# .build/xgboost, where the tests find the Python package of the same release. pip is told that it
# fetches for a Python that the package supports, since the library needs none at all.
set -euo pipefail
. "$(dirname "$0")/env.sh"
. "$root/tools/toolchain/systems.sh"

place=${DESTDIR:-}$("$pg_config" --pkglibdir)/pgboost_train
pinned=$root/tools/toolchain/libxgboost.txt
unpacked=$root/.build/xgboost${CARGO_BUILD_TARGET:+-$CARGO_BUILD_TARGET}
python=${PYTHON:-python3}
processor=${CARGO_BUILD_TARGET:-$(uname -m)}
processor=${processor%%-*}

fetch() {
    local wheels
    "$python" -m pip --version >/dev/null 2>&1 ||
        die "no pip found, which fetches libxgboost" "run: $(install_command python3-pip)"
    wheels=$(mktemp -d "$root/.build/wheel.XXXXXX")
    say "fetching libxgboost"
    "$python" -m pip download --quiet --disable-pip-version-check --no-deps --require-hashes --only-binary=:all: \
        --python-version 3.12 --implementation cp --abi none \
        --platform "manylinux_2_28_$processor" --dest "$wheels" -r "$pinned"
    rm -rf "$unpacked"
    "$python" -m zipfile -e "$wheels"/*.whl "$unpacked"
    rm -rf "$wheels"
    cp "$pinned" "$unpacked/pinned.txt"
}

mkdir -p "$root/.build"
cmp -s "$pinned" "$unpacked/pinned.txt" || fetch
put_into "$place/xgboost/lib" 755 "$unpacked/xgboost/lib/libxgboost.so"
put_into "$place/xgboost_cpu.libs" 755 "$unpacked"/xgboost_cpu.libs/*
