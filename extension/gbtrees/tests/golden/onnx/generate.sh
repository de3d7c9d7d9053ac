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
export PYTHONDONTWRITEBYTECODE=1

make() { # release of skl2onnx, packages
    release=$1
    shift
    [ -x "$venvs/$release/bin/python" ] || "${PYTHON311:-python3.11}" -m venv "$venvs/$release"
    "$venvs/$release/bin/pip" install -q --disable-pip-version-check --only-binary :all: "skl2onnx==$release" "$@"
    rm -rf "${results:?}/$release"
    "$venvs/$release/bin/python" "$here/train.py" "$results"
}

make 1.14.1 scikit-learn==1.2.2 onnx==1.14.1 protobuf==4.25.8 onnxruntime==1.15.1 numpy==1.24.4 \
    onnxmltools==1.11.2 lightgbm==3.3.5 xgboost==1.7.6
make 1.16.0 scikit-learn==1.4.2 onnx==1.15.0 protobuf==4.25.8 onnxruntime==1.17.3 numpy==1.26.4 \
    onnxmltools==1.12.0 lightgbm==4.3.0 xgboost==2.0.3
make 1.18.0 scikit-learn==1.6.1 onnx==1.17.0 protobuf==5.29.5 onnxruntime==1.20.1 numpy==2.1.3 \
    onnxmltools==1.13.0 lightgbm==4.5.0 xgboost-cpu==2.1.4
make 1.20.0 scikit-learn==1.7.2 onnx==1.19.1 protobuf==5.29.5 onnxruntime==1.31.1 numpy==2.2.6 \
    onnxmltools==1.16.0 lightgbm==4.6.0 xgboost-cpu==3.2.0
"$venvs/1.20.0/bin/python" "$here/hand.py" "$results"
"$venvs/1.20.0/bin/python" "$here/expect.py" "$results"
