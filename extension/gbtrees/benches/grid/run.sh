#!/usr/bin/env bash
# Trains the models of the grid, and measures the engine compared with the models' libraries. `make report`
# makes docs/benchmarks/engine.md and the speed in docs/benchmarks/formats.md from the results.
#
#     PYTHON=... LIBXGBOOST=... LIBLIGHTGBM=... [OTHER_GRID_BENCH=...] run.sh MODELS RESULTS
#
# MODELS is a folder for models and rows, one gigabyte; RESULTS the folder below bench/results that the raw
# results go to. LIBXGBOOST and LIBLIGHTGBM are the libraries in Python packages. PYTHON has numpy, xgboost,
# lightgbm, catboost, scikit-learn, skl2onnx and onnxruntime; with ydf, treelite, tl2cgen, lleaves and shap
# those are measured, too. OTHER_GRID_BENCH is the benchmark of another build, which is measured in turns with
# this one. Training takes forty minutes once, measuring twenty. Nothing else should run.
#
#     scores.jsonl        margins: XGBoost's and LightGBM's models in one process with the C libraries, the others
#                         by libraries.py
#     compiled.jsonl      code that other programs make of a few models
#     builds.jsonl        the other build
#     explanations.jsonl  contributions and interactions
#     formats.jsonl, lightgbm.jsonl   a few models three times, for docs/benchmarks/formats.md
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../../.." && pwd)
models=$1 results=$2

mkdir -p "$results"
"$PYTHON" "$here/train.py" "$models"
"$PYTHON" "$here/shapes.py" "$models/shapes"
cd "$root/extension"
# The executable of a benchmark.
built() {
	cargo bench --locked -p gbtrees --bench "$1" --no-run --message-format=json |
		"$PYTHON" -c 'import json, sys
lines = map(json.loads, sys.stdin)
print([line["executable"] for line in lines if line.get("target", {}).get("name") == sys.argv[1]][-1])' "$1"
}
bench=$(built grid) explanations=$(built explanations)
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
libraries() { "$PYTHON" "$here/libraries.py" "$@"; }
{
	ROWS="1 2048" "$bench" "$models/shapes" 150 "$LIBXGBOOST" "$LIBLIGHTGBM"
	libraries libraries "$models/shapes" "$bench" 240
	ROWS="1 2048" "$bench" "$models" 120 "$LIBXGBOOST"
} >"$results/scores.jsonl"
libraries compiled "$models/shapes" "$bench" 20 >"$results/compiled.jsonl"
SECONDS_A_TURN=0.3 "$PYTHON" "$here/explanations.py" "$models/explained" "$explanations" 3 >"$results/explanations.jsonl"
if [ -n "${OTHER_GRID_BENCH:-}" ]; then
	ROWS=2048 libraries builds "$models" "$bench" 60 "$OTHER_GRID_BENCH" >"$results/builds.jsonl"
	ROWS=2048 libraries builds "$models/shapes" "$bench" 60 "$OTHER_GRID_BENCH" >>"$results/builds.jsonl"
fi
rm -f "$results"/{formats,lightgbm}.jsonl
for _ in 1 2 3; do
	"$PYTHON" "$here/formats.py" "$models" "$bench" 42 >>"$results/formats.jsonl"
	"$bench" "$models/lightgbm" 36 "$LIBLIGHTGBM" >>"$results/lightgbm.jsonl"
done
