#!/usr/bin/env bash
# Trains the models of the grid, and measures the engine beside XGBoost and other engines. `make report`
# makes docs/benchmarks/engine.md and the speed in docs/benchmarks/formats.md from the results.
#
#     PYTHON=... LIBXGBOOST="NEWEST.so [OLDER.so...]" [LIBLIGHTGBM=...] run.sh MODELS RESULTS [SECONDS]
#
# MODELS is a folder for models and rows, one gigabyte; RESULTS the folder below bench/results
# that the raw results go to. PYTHON has xgboost and numpy, and for the other engines treelite, tl2cgen,
# onnxruntime and onnxmltools; without them that part is left out. LIBLIGHTGBM is LightGBM's library, beside
# which its own models are measured (lightgbm.jsonl), for which PYTHON has lightgbm; with catboost,
# onnxruntime, skl2onnx and scikit-learn so are theirs (formats.jsonl), all three times, in five minutes. Training
# takes half an hour once; measuring takes SECONDS, 900 unless given, a quarter of an hour for explanations beside
# XGBoost, LightGBM, CatBoost and shap if it is there (explanations.jsonl), and two minutes for the other engines. Where PYTHON has all of these, leaf-wise, deep and
# symmetric trees and forests are measured too, ten minutes (shapes-grid.jsonl in one process beside the C
# libraries, shapes.jsonl beside the others). Nothing else should run.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../../.." && pwd)
models=$1 results=$2 seconds=${3:-900}
read -ra libraries <<<"$LIBXGBOOST"

mkdir -p "$results"
"$PYTHON" "$here/train.py" "$models"
cd "$root/extension"
# The executable of a benchmark.
built() {
	cargo bench --locked -p gbtrees --bench "$1" --no-run --message-format=json |
		"$PYTHON" -c 'import json, sys
lines = map(json.loads, sys.stdin)
print([line["executable"] for line in lines if line.get("target", {}).get("name") == sys.argv[1]][-1])' "$1"
}
bench=$(built grid)
"$PYTHON" - "$(git rev-parse --short HEAD)" >"$results/machine.json" <<'PYTHON'
import datetime, json, os, platform, subprocess, sys
from pathlib import Path

lines = Path("/proc/cpuinfo").read_text().splitlines()
models = [line.split(": ", 1)[1] for line in lines if line.startswith("model name")]
compiler = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=True)
machine = {
    "date": datetime.date.today().isoformat(),
    "cpu": models[0] if models else platform.machine(),
    "cores": os.cpu_count(),
    "system": f"{platform.system()} {platform.release()}",
    "compiler": compiler.stdout.strip(),
    "commit": sys.argv[1],
}
print(json.dumps(machine, indent=2))
PYTHON
rm -f "$results"/{formats,lightgbm}.jsonl
"$bench" "$models" "$seconds" "${libraries[@]}" >"$results/grid.jsonl"
if "$PYTHON" -c 'import lightgbm, catboost' 2>/dev/null; then
	"$PYTHON" "$here/explanations.py" "$models/explained" "$(built explanations)" 5 >"$results/explanations.jsonl"
fi
if "$PYTHON" -c 'import treelite, tl2cgen, onnxruntime, onnxmltools' 2>/dev/null; then
	"$PYTHON" "$here/peers.py" "$models" "$bench" "${libraries[0]}" >"$results/peers.jsonl"
fi
for _ in 1 2 3; do
	if "$PYTHON" -c 'import catboost, onnxruntime, skl2onnx, sklearn' 2>/dev/null; then
		"$PYTHON" "$here/formats.py" "$models" "$bench" 42 >>"$results/formats.jsonl"
	fi
	if [ -n "${LIBLIGHTGBM:-}" ]; then
		"$bench" "$models/lightgbm" 36 "$LIBLIGHTGBM" >>"$results/lightgbm.jsonl"
	fi
done
if [ -n "${LIBLIGHTGBM:-}" ] && "$PYTHON" -c 'import catboost, onnxruntime, skl2onnx, sklearn' 2>/dev/null; then
	"$PYTHON" "$here/shapes.py" "$models/shapes" train
	"$bench" "$models/shapes" 300 "${libraries[0]}" "$LIBLIGHTGBM" >"$results/shapes-grid.jsonl"
	"$PYTHON" "$here/shapes.py" "$models/shapes" "$bench" 300 >"$results/shapes.jsonl"
fi
