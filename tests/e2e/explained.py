"""`python -m tests.e2e.explained MODEL ROWS OUT`: what the newest XGBoost explains.

It runs in a separate process: each has one XGBoost, that of the tests is the one that pip installs.
ROWS is a .npy, OUT an .npz with the arrays `contribs` and `interactions`.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from python_baseline.releases import load

KINDS = {
    "contribs": {"pred_contribs": True},
    "interactions": {"pred_interactions": True},
}


def explained(model: bytes, rows: np.ndarray) -> dict[str, np.ndarray]:
    """XGBoost's explanations of the rows, by the kind's name."""
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, name) for name in ("model.ubj", "rows.npy", "out.npz")]
        files[0].write_bytes(model)
        np.save(files[1], rows)
        subprocess.run([sys.executable, "-m", "tests.e2e.explained", *map(str, files)], check=True)
        with np.load(files[2]) as found:
            return {kind: found[kind] for kind in KINDS}


def main() -> None:
    """Explains, and writes what it found."""
    xgboost = load("pinned")
    model, rows, out = sys.argv[1:]
    booster = xgboost.Booster({"nthread": 1}, model_file=model)
    booster.feature_names = None
    data = xgboost.DMatrix(np.load(rows), feature_types=booster.feature_types)
    np.savez(out, **{kind: booster.predict(data, **how) for kind, how in KINDS.items()})


if __name__ == "__main__":
    main()
