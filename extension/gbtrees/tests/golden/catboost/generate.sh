#!/bin/sh
# Makes every golden model of CatBoost and every expected prediction again. ../README.md says what is what.
#
#   generate.sh <folder for the virtual environments> [<folder for the results>]
#
# PYTHON38 and PYTHON311 name interpreters of those versions.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
venvs=$1
results=${2:-$here}
newest=1.2.10
export PYTHONWARNINGS=ignore

# CatBoost is installed without its dependencies: it would bring two libraries for plots.
environment() { # release, interpreter, other packages...
    release=$1 interpreter=$2
    shift 2
    [ -x "$venvs/$release/bin/python" ] || "$interpreter" -m venv "$venvs/$release"
    "$venvs/$release/bin/pip" install -q --disable-pip-version-check six graphviz "$@"
    "$venvs/$release/bin/pip" install -q --disable-pip-version-check --no-deps "catboost==$release"
}

for release in 0.26.1 1.0.6 1.1.1; do
    environment $release "${PYTHON38:-python3.8}" 'numpy<1.24' 'pandas<2' 'scipy<1.11'
done
for release in 1.2 1.2.5 $newest; do
    environment $release "${PYTHON311:-python3.11}" 'numpy<2' 'pandas<2.3' scipy
done

for release in 0.26.1 $newest; do
    "$venvs/$release/bin/python" "$here/train.py" "$results"
done
for release in 1.0.6 1.1.1 1.2 1.2.5; do
    "$venvs/$release/bin/python" "$here/train.py" "$results" --core
done
rm -rf "${results:?}/refused"
"$venvs/$newest/bin/python" "$here/refused.py" "$results"
