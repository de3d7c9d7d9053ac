"""`python -m speed.in_python MODEL`: contributions as Python computes them of the rows of a table.

For each line of its input, how to connect, it takes the features of all flights out of the table by COPY,
has XGBoost explain them on one thread, and says how long each of the two took and the sum of all
contributions. The release is the one that is pinned for training in SQL, the newest.
"""

import io
import sys
import time

import numpy as np
import pandas as pd
import psycopg

from data.columns import FEATURES
from python_baseline.releases import load

COPY = f"COPY (SELECT {', '.join(FEATURES)} FROM flights) TO STDOUT (FORMAT csv)"


def taken(conninfo: str) -> pd.DataFrame:
    """The features of all flights."""
    with psycopg.connect(conninfo) as connection, connection.cursor().copy(COPY) as copy:
        content = io.BytesIO()
        for block in copy:
            content.write(block)
    content.seek(0)
    return pd.read_csv(content, names=[*FEATURES], dtype=np.float32)


def main() -> None:
    """Answers until there are no more questions."""
    xgboost = load("pinned")
    booster = xgboost.Booster({"nthread": 1}, model_file=sys.argv[1])
    print("ready", flush=True)
    for line in sys.stdin:
        began = time.perf_counter()
        frame = taken(line.strip())
        copied = time.perf_counter()
        found = booster.predict(xgboost.DMatrix(frame, nthread=1), pred_contribs=True)
        done = time.perf_counter()
        print(copied - began, done - copied, found.sum(dtype=np.float64), flush=True)


if __name__ == "__main__":
    main()
