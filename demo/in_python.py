"""Trains on an array in memory with XGBoost in Python, and prints the seconds and the peak memory.

Run as a process of its own, `python -m demo.in_python PACKAGE FEATURES.npy LABEL.npy ROUNDS pandas|numpy`,
so that its memory is that of the training and its XGBoost the release that trains in SQL. The
package's directory comes first on the path.
"""

import sys
import time
from pathlib import Path

import numpy as np

from demo.memory import Peak

# Where make install unpacks the wheel that libxgboost comes out of.
PACKAGE = Path(__file__).resolve().parents[1] / ".build" / "xgboost"


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
