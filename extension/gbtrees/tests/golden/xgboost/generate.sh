#!/bin/sh
# Makes every golden model and every expected prediction again. ../README.md says what is what.
#
#   generate.sh <folder for the virtual environments> [<folder for the results>]
#
# PYTHON38, PYTHON311 and PYTHON312 name interpreters of those versions.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
venvs=$1
results=${2:-$here}
newest=3.4.1
export PYTHONWARNINGS=ignore

old=${PYTHON38:-python3.8}
middle=${PYTHON311:-python3.11}
new=${PYTHON312:-python3.12}

# XGBoost is installed without its dependencies: it would bring a GPU library of several hundred megabytes.
environment() { # release, interpreter, other packages...
    release=$1 interpreter=$2
    shift 2
    [ -x "$venvs/$release/bin/python" ] || "$interpreter" -m venv "$venvs/$release"
    "$venvs/$release/bin/pip" install -q --disable-pip-version-check "$@"
    "$venvs/$release/bin/pip" install -q --disable-pip-version-check --no-deps "xgboost==$release"
}

train() { # release, option
    rm -rf "${results:?}/$1"
    "$venvs/$1/bin/python" "$here/train.py" "$results" ${2:+"$2"}
}

for release in 0.90 1.0.2 1.3.3 1.6.2; do
    environment $release "$old" 'numpy<1.20' 'scipy<1.7'
done
for release in 1.7.6 2.0.3 2.1.4 3.0.5 3.1.3 3.2.0; do
    environment $release "$middle" 'numpy<2' scipy 'pandas<2.3'
done
for release in 3.3.0 3.4.1; do
    environment $release "$new" 'numpy<2.3' scipy 'pandas<2.3'
done

for release in 1.7.6 2.1.4 3.0.5 3.2.0 3.4.1; do
    train $release
done
for release in 1.0.2 1.3.3 1.6.2 2.0.3 3.1.3 3.3.0; do
    train $release --core
done

for release in 1.0.2 1.3.3 1.6.2 1.7.6 2.0.3 2.1.4 3.0.5; do
    "$venvs/$release/bin/python" "$here/binary.py" "$results"
done
"$venvs/0.90/bin/python" "$here/oldest.py" train "$results"

rm -rf "${results:?}/refused"
for release in 1.0.2 1.3.3 1.7.6 2.1.4 3.2.0 3.3.0 3.4.1; do
    "$venvs/$release/bin/python" "$here/refused.py" "$results"
done

"$venvs/$newest/bin/python" "$here/expect.py" "$results"
"$venvs/3.0.5/bin/python" "$here/oldest.py" expect "$results"
