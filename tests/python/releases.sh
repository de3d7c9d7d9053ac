#!/usr/bin/env bash
# Tests the Python package with other releases of scikit-learn than the one of requirements.txt, each in a
# virtual environment below .build:
#
#     tests/python/releases.sh RELEASE...
set -euo pipefail
. "$(dirname "$0")/../../tools/toolchain/env.sh"

# The libraries that each release was made with: earlier ones know neither NumPy 2 nor pandas 3.
declare -A with=([1.3]="numpy<2 pandas<2.3 lightgbm<4.6 imbalanced-learn<0.13"
    [1.5]="numpy<2.3 pandas<3 imbalanced-learn<0.14")
tests=(tests/python/test_{parameters,random_models,sklearn,pipelines}.py)

cd "$root"
for release; do
    say "tests with scikit-learn $release"
    venv=.build/sklearn/$release
    [ -d "$venv" ] || "$PYTHON" -m venv "$venv"
    read -ra others <<<"${with[$release]:-pandas<3}"
    "$venv/bin/pip" install --quiet "scikit-learn==$release.*" "${others[@]}" lightgbm catboost xgboost-cpu \
        imbalanced-learn "psycopg[binary]" psycopg2-binary psycopg_pool sqlalchemy psutil pytest pytest-xdist
    PGBOOST_EARLIER=$release "$venv/bin/pytest" -rs -n 2 --dist loadfile -p no:cacheprovider "${tests[@]}"
done
