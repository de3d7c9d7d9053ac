#!/bin/sh
# Makes every golden model and every expected prediction again. ../README.md says what is what.
#
#   generate.sh <folder for the virtual environments> [<folder for the results>]
#
# PYTHON311 names an interpreter of that version.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
venvs=$1
results=${2:-$here}
python=${PYTHON311:-python3.11}
newest=4.7.0
all="2.3.1 3.3.5 $newest"
core="2.2.3 4.0.0 4.6.0"

for release in $all $core; do
    case $release in
        2.* | 3.* | 4.0.*) with="numpy==1.23.5 scipy==1.10.1 pandas==1.5.3" ;;
        *) with="numpy==1.26.4 scipy==1.11.4 pandas==2.2.3 narwhals" ;;
    esac
    [ -x "$venvs/$release/bin/python" ] || "$python" -m venv "$venvs/$release"
    # shellcheck disable=SC2086
    "$venvs/$release/bin/pip" install -q --disable-pip-version-check --only-binary :all: $with
    "$venvs/$release/bin/pip" install -q --disable-pip-version-check --only-binary :all: --no-deps "lightgbm==$release"
done

train() { # release, option
    rm -rf "${results:?}/$1"
    "$venvs/$1/bin/python" "$here/train.py" "$results" ${2:+"$2"}
}

for release in $all; do
    train "$release"
done
for release in $core; do
    train "$release" --core
done
"$venvs/$newest/bin/python" "$here/expect.py" "$results"
