"""`python -m tests.extension.e2e.explained FOLDER`: explanations of the newest XGBoost.

It runs in a separate process: each has one XGBoost, that of the tests is the one that pip installs.
FOLDER has models, N.ubj, and the rows of each, N.npy. It gets N.npz: arrays `contribs` and `interactions`.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from python_baseline.releases import load

KINDS = {"contribs": {"pred_contribs": True}, "interactions": {"pred_interactions": True}}


def explained(cases: list[tuple[bytes, np.ndarray]]) -> list[dict[str, np.ndarray]]:
    """XGBoost's explanations of each model's rows, by the kind's name."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number, (model, rows) in enumerate(cases):
            (folder / f"{number}.ubj").write_bytes(model)
            np.save(folder / f"{number}.npy", rows)
        subprocess.run([sys.executable, "-m", "tests.extension.e2e.explained", name], check=True)
        found = []
        for number in range(len(cases)):
            with np.load(folder / f"{number}.npz") as arrays:
                found.append({kind: arrays[kind] for kind in KINDS})
        return found


def main() -> None:
    """Writes the explanations of each model."""
    xgboost = load()
    for model in Path(sys.argv[1]).glob("*.ubj"):
        booster = xgboost.Booster({"nthread": 1}, model_file=model)
        booster.feature_names = None
        rows = np.load(model.with_suffix(".npy"))
        data = xgboost.DMatrix(rows, feature_types=booster.feature_types)
        found = {kind: booster.predict(data, **how) for kind, how in KINDS.items()}
        np.savez(model.with_suffix(".npz"), **found)


if __name__ == "__main__":
    main()
