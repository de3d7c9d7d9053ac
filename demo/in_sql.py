"""Trains in SQL, on the table itself, and beside it in Python on an array: time and peak memory."""

import tempfile
import time
from pathlib import Path

import numpy as np
import psycopg

from cluster import Cluster
from data.columns import FEATURES, TARGET
from workbench.in_python import in_python
from workbench.memory import Peak
from workbench.preparation import DATABASE
from workbench.tell import Teller, say, table
from workbench.training import Recipe, departed

MODEL = "flights_sql"
TRAIN = "SELECT set, metric, value FROM train_model(%s, 'flights', %s, rounds => %s)"


def _train(connection: psycopg.Connection, rounds: int) -> tuple[float, int]:
    with Peak(connection.info.backend_pid) as peak:
        before = time.perf_counter()
        ((_, metric, value),) = connection.execute(TRAIN, (MODEL, TARGET, rounds)).fetchall()
        seconds = time.perf_counter() - before
    say(f"{metric} on the rows that it was trained on: {value:.2f}")
    return seconds, peak.bytes


def train_in_sql(teller: Teller, cluster: Cluster, recipe: Recipe) -> int:
    """Trains both ways, and compares pgboost's margins with libxgboost's; how many differ."""
    title = (
        f"SELECT * FROM train_model('{MODEL}', 'flights', '{TARGET}', rounds => {recipe.rounds})"
    )
    with teller.step(title), cluster.connect(DATABASE) as connection:
        # Another build may have been installed under the same version.
        connection.execute("DROP EXTENSION IF EXISTS pgboost_train; CREATE EXTENSION pgboost_train")
        features, label = departed(recipe)
        with tempfile.TemporaryDirectory() as name:
            paths = Path(name, "features.npy"), Path(name, "label.npy")
            for path, array in zip(paths, (features, label), strict=True):
                np.save(path, array)
            python = {form: in_python(*paths, recipe.rounds, form) for form in ("numpy", "pandas")}
        ways = {
            "SQL, from the table": _train(connection, recipe.rounds),
            "Python, from a numpy array": python["numpy"],
            "Python, from a pandas DataFrame": python["pandas"],
        }
        table(
            (f"{len(label):,} rows", "seconds", "peak MB above idle"),
            [(way, seconds, f"{peak / 1e6:.0f}") for way, (seconds, peak) in ways.items()],
        )
        query = f"SELECT {', '.join(FEATURES)} FROM flights"
        rows, different, _ = connection.execute(
            "SELECT * FROM verify_model(%s, %s)", (MODEL, query)
        ).fetchone()
        say(f"{rows:,} margins of pgboost and libxgboost compared: {different} differ")
        return different
