"""Compares every row's prediction in SQL with XGBoost's, bit by bit.

A binary COPY fetches each row's features with its prediction, so that neither the order of rows nor a
conversion to text matters.
"""

from pathlib import Path

import numpy as np
import psycopg
import xgboost
from numpy.typing import NDArray

from bench.training import copied
from data.columns import FEATURES
from tools.workbench.console import Teller, say, table
from tools.workbench.queries import COLUMNS, FORMS, predict


def differing_rows(fetched: NDArray[np.float32], model: xgboost.Booster) -> NDArray[np.int64]:
    """Returns the rows whose predictions are not bit for bit XGBoost's for the features."""
    features, predicted = np.ascontiguousarray(fetched[:, :-1]), fetched[:, -1].copy()
    expected = model.predict(xgboost.DMatrix(features, feature_names=FEATURES))
    return np.flatnonzero(predicted.view(np.uint32) != expected.view(np.uint32))


def compare(teller: Teller, connection: psycopg.Connection, path: Path, rows: int) -> int:
    """Compares all rows in all forms; returns how many predictions differ."""
    model = xgboost.Booster(model_file=path)
    results, different = [], 0
    with teller.step("score every row in SQL, compare with Booster.predict by bit pattern"):
        for form, arguments in FORMS.items():
            query = f"SELECT {COLUMNS}, {predict(form)} FROM flights f"
            fetched = copied(connection, query, len(FEATURES) + 1).astype(np.float32)
            if len(fetched) != rows:
                raise ValueError(f"{len(fetched):,} rows came back, not {rows:,}")
            wrong = differing_rows(fetched, model)
            call = f"predict('flights', {arguments.replace(COLUMNS, 'year, quarter, ...')})"
            results.append((form, call, f"{len(fetched):,}", f"{len(wrong):,}"))
            different += len(wrong)
            for index in wrong[:3]:
                say(f"{form}: row {index} differs: {fetched[index].tolist()}")
        table(("arguments", "call", "rows", "rows that differ"), results)
    return different
