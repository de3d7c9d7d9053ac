"""Compares every row's prediction in SQL with XGBoost's own, bit by bit.

Features and prediction of a row come in one binary COPY, so that nothing
depends on the order of rows, and no number passes through text.
"""

from pathlib import Path

import numpy as np
import psycopg
import xgboost
from numpy.typing import NDArray
from tqdm import tqdm

from data.columns import FEATURES
from workbench.queries import COLUMNS, FORMS, predict
from workbench.tell import Teller, say, table

# PostgreSQL's binary COPY: a signature with two counts, tuples, and a last mark.
HEADER_BYTES = 19
TRAILER_BYTES = 2
FIELDS = len(FEATURES) + 1
TUPLE = np.dtype([("fields", ">i2"), ("values", [("length", ">i4"), ("value", ">f4")], FIELDS)])


def _fetch(connection: psycopg.Connection, form: str, total: int) -> NDArray[np.float32]:
    """Each row's features and, last, its prediction."""
    query = f"COPY (SELECT {COLUMNS}, {predict(form)} FROM flights f) TO STDOUT (FORMAT binary)"
    parts = []
    with (
        tqdm(total=total, desc=form, unit=" rows", unit_scale=True, disable=None) as bar,
        connection.cursor().copy(query) as copy,
    ):
        for part in copy:
            parts.append(bytes(part))
            bar.update(1)
    content = b"".join(parts)
    rows = np.frombuffer(content[HEADER_BYTES:-TRAILER_BYTES], dtype=TUPLE)
    if (rows["fields"] != FIELDS).any() or (rows["values"]["length"] != 4).any():
        raise ValueError("COPY gave other rows than eleven reals without NULL")
    return rows["values"]["value"].astype(np.float32)


def differing_rows(fetched: NDArray[np.float32], model: xgboost.Booster) -> NDArray[np.int64]:
    """Where the prediction's 32 bits are not those that XGBoost gives for the features."""
    features, predicted = np.ascontiguousarray(fetched[:, :-1]), fetched[:, -1].copy()
    expected = model.predict(xgboost.DMatrix(features, feature_names=FEATURES))
    return np.flatnonzero(predicted.view(np.uint32) != expected.view(np.uint32))


def compare(teller: Teller, connection: psycopg.Connection, path: Path, rows: int) -> int:
    """Compares all rows in all forms; returns how many predictions differ."""
    model = xgboost.Booster(model_file=path)
    results, different = [], 0
    with teller.step("score every row in SQL, compare with Booster.predict by bit pattern"):
        for form, arguments in FORMS.items():
            fetched = _fetch(connection, form, rows)
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
