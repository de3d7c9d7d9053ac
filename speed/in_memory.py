"""`python -m speed.in_memory ROWS LABEL=FILE...`: XGBoost's own batch, in a process of its own.

It makes the flights that the table has, as rows of f32 one after the other, and says that it is ready.
Then for each line of its input, a label, it predicts for all rows by `Booster.inplace_predict` on
one thread, and says how long that took and the sum of the predictions' bits. The release is the
one that is pinned for training in SQL, the newest.
"""

import sys
import time

import numpy as np

from data.flights import Request, blocks
from python_baseline.releases import load


def main() -> None:
    """Answers until there are no more questions."""
    xgboost = load("pinned")
    rows, *files = sys.argv[1:]
    flights = np.concatenate([*blocks(Request(int(rows)))])
    # The first column is the delay.
    features = np.ascontiguousarray(flights[:, 1:], dtype=np.float32)
    models = {}
    for label, path in (file.split("=", 1) for file in files):
        models[label] = xgboost.Booster({"nthread": 1}, model_file=path)
        models[label].feature_names = None
    print("ready", flush=True)
    for line in sys.stdin:
        model = models[line.strip()]
        began = time.perf_counter()
        predicted = model.inplace_predict(features)
        took = time.perf_counter() - began
        bits = np.asarray(predicted, dtype=np.float32).view(np.int32).sum(dtype=np.int64)
        print(took, bits, flush=True)


if __name__ == "__main__":
    main()
