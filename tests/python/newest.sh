#!/usr/bin/env bash
# Tests the Python package with the releases of newest.txt, in a virtual environment below .build, by Python 3.12
# or later, since Debian 12's own has no later NumPy and XGBoost:
#
#     tests/python/newest.sh          makes the environment, and runs all files
#     tests/python/newest.sh venv     makes the environment
#     tests/python/newest.sh outdated names the libraries of newest.txt that have a newer release, and fails if
#                                     there is one; PYTHON is 3.12 or later
#     tests/python/newest.sh some     what make test runs: the files in which these libraries matter most
set -euo pipefail

if [ "${1:-}" = outdated ]; then
    cd "$(dirname "$0")"
    "${PYTHON:-python3}" -m pip install --quiet --disable-pip-version-check --dry-run --ignore-installed --report - \
        $(sed -n 's/^\([a-z-]*\)==.*/\1/p' newest.txt) | "${PYTHON:-python3}" -c '
import json, re, sys
pinned = dict(re.findall(r"^([a-z-]+)==(\S+)$", open("newest.txt").read(), re.M))
found = {one["metadata"]["name"].lower(): one["metadata"]["version"] for one in json.load(sys.stdin)["install"]}
newer = {name: found[name] for name in pinned if found.get(name, pinned[name]) != pinned[name]}
for name, version in newer.items():
    print(f"{name} {version} is newer than {pinned[name]} of tests/python/newest.txt")
sys.exit(bool(newer))
'
    exit
fi

. "$(dirname "$0")/../../tools/toolchain/env.sh"

cd "$root"
venv=.build/newest
some=(tests/python/test_{ordinary,frames,random_models,interpretml_and_ydf,saved,damaged}.py)
all=("${some[@]}" tests/python/test_{parameters,fuzz,messages,push,check}.py)

# A command python3.12 of pyenv may be there and run nothing.
newest_python() {
    local python
    for python in python3.12 python3.13 "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.1[23].*/bin/python; do
        "$python" -c '' 2>/dev/null && echo "$python" && return
    done
}

make_venv() {
    say "making the Python environment $venv, which takes a minute"
    rm -rf "$venv"
    "$1" -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check --no-compile --requirement tests/python/newest.txt
    cp tests/python/newest.txt "$venv/.complete"
}

missing="there is no Python 3.12 or 3.13"
if ! cmp -s tests/python/newest.txt "$venv/.complete"; then
    python=$(newest_python || true)
    if [ "$python" ]; then
        make_venv "$python"
    elif [ "${1:-}" = some ]; then
        say "not tested with the newest releases of the libraries: $missing"
        exit
    else
        die "$missing" "install one, or with pyenv: pyenv install 3.12"
    fi
fi
[ "${1:-}" != venv ] || exit 0
say "tests with the newest releases of the libraries"
tests=("${all[@]}")
[ "${1:-}" != some ] || tests=("${some[@]}")
"$venv/bin/pytest" -n 2 --dist loadfile -p no:cacheprovider "${tests[@]}"
