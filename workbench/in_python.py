"""Trains on an array in memory with XGBoost in Python, and prints the seconds and the peak memory.

Run as a process of its own, `python -m workbench.in_python PACKAGE FEATURES.npy LABEL.npy ROUNDS FORM`,
so that its memory is that of the training and its XGBoost the release that trains in SQL. The
package's directory comes first on the path.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from workbench.memory import Peak

# Where make install unpacks the wheel that libxgboost comes out of.
PACKAGE = Path(__file__).resolve().parents[1] / ".build" / "xgboost"


def in_python(features: Path, label: Path, rounds: int, form: str) -> tuple[float, int]:
    """Seconds and peak memory of a training in a Python process, from an array in its memory."""
    # As in SQL: threads with nothing to do sleep, so that a busy machine does not decide.
    environment = os.environ | {"OMP_WAIT_POLICY": "passive"}
    command = [sys.executable, "-m", "workbench.in_python", PACKAGE, features, label, rounds, form]
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, check=True,
        env=environment, cwd=Path(__file__).resolve().parents[1],
    )  # fmt: skip
    seconds, peak = done.stdout.split()
    return float(seconds), int(peak)


def main(package: str, features: str, label: str, rounds: str, form: str) -> None:
    """Trains and prints."""
    sys.path.insert(0, package)
    import xgboost  # noqa: PLC0415

    values, target = np.load(features), np.load(label)
    if form == "pandas":
        import pandas as pd  # noqa: PLC0415

        values = pd.DataFrame(values, copy=True)
    with Peak() as peak:
        before = time.perf_counter()
        if form == "pandas":
            xgboost.XGBRegressor(n_estimators=int(rounds), tree_method="hist").fit(values, target)
        else:
            matrix = xgboost.QuantileDMatrix(values, target)
            xgboost.train({"tree_method": "hist"}, matrix, int(rounds))
        seconds = time.perf_counter() - before
    print(seconds, peak.bytes)


if __name__ == "__main__":
    main(*sys.argv[1:])
