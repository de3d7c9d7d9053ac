"""A model as SQL functions, the extension and `array_length` over the same rows: `python -m bench.functions`.

All are measured interleaved, on one connection, in a separate cluster with PostgreSQL's defaults but JIT,
which is off. A run writes functions.json to a new directory of bench/results, from which `make report`
generates the table of docs/managed.md. Margins are compared before anything is timed.
"""

import argparse
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import psycopg

from bench.inside.shapes import of_catboost, of_lightgbm, of_xgboost
from bench.inside.site import running, seconds
from bench.interleaving import interleaved
from bench.record import RESULTS, keep, packages
from bench.report.pages import page
from tools.cluster import Cluster

ROWS, FEATURES, TRAINED = 20_000, 10, 10_000
REPETITIONS = 5
# Statements of one row per repetition, and fresh connections.
ONE_ROW, FRESH = 300, 10
COLUMNS = [f"f{number}" for number in range(FEATURES)]
ARGUMENTS = ", ".join(COLUMNS)
CONTROL = f"array_length(ARRAY[{ARGUMENTS}], 1)"
TABLE = f"""
    SELECT setseed(0.5);
    CREATE TABLE samples AS SELECT id, {", ".join(f"(random() * 10)::real AS {one}" for one in COLUMNS)}
      FROM generate_series(1, {ROWS}) AS id;
    ALTER TABLE samples ADD PRIMARY KEY (id);
"""


# The size is the depth, or for LightGBM the leaves.
MODELS: dict[str, tuple[Callable[..., bytes], int, int]] = {
    "XGBoost, 25 trees of depth 6": (of_xgboost, 25, 6),
    "LightGBM, 100 trees of 31 leaves": (of_lightgbm, 100, 31),
    "CatBoost, 200 trees of depth 6": (of_catboost, 200, 6),
    "LightGBM, 200 trees of 255 leaves": (of_lightgbm, 200, 255),
    "XGBoost, 500 trees of depth 8": (of_xgboost, 500, 8),
}


def _one_row(connection: psycopg.Connection, expression: str) -> float:
    """Measures the seconds of a prepared statement of one row."""
    statement = f"SELECT {expression} FROM samples WHERE id = %s"
    began = time.perf_counter()
    for key in range(1, ONE_ROW + 1):
        connection.execute(statement, (key,), prepare=True).fetchone()
    return (time.perf_counter() - began) / ONE_ROW


def _fresh(cluster: Cluster, function: str) -> dict[str, list[float]]:
    """Measures the first call of fresh connections, in seconds above `SELECT 1`, and its memory in bytes."""
    call = f"SELECT {function}({', '.join(['1'] * FEATURES)})"
    memory = "SELECT sum(total_bytes) FROM pg_backend_memory_contexts"
    found: dict[str, list[float]] = {"first": [], "memory": []}
    for _ in range(FRESH):
        with cluster.connect("postgres") as connection:
            before = connection.execute(memory).fetchone()[0]
            alone = seconds(connection, "SELECT 1")
            found["first"].append(seconds(connection, call) - alone)
            found["memory"].append(float(connection.execute(memory).fetchone()[0] - before))
    return found


def _check(connection: psycopg.Connection, function: str) -> None:
    """Compares the margins of all rows with the extension's."""
    margin = f"(predict_margin('{function}', {ARGUMENTS}))[1]"
    differs = f"{function}_margin({ARGUMENTS})::real IS DISTINCT FROM {margin}"
    counted = connection.execute(f"SELECT count(*) FROM samples WHERE {differs}")
    ((different,),) = counted.fetchall()
    if different:
        raise SystemExit(f"error: {different} margins of {function} differ from the extension's")


def _subject(
    cluster: Cluster, connection: psycopg.Connection, function: str, file: bytes
) -> dict[str, Any]:
    connection.execute("SELECT load_model(%s, %s)", (function, file))
    ((script,),) = connection.execute("SELECT export_model_sql(%s)", (function,)).fetchall()
    connection.execute(script)
    _check(connection, function)
    rows = f"{function}_rows('SELECT id, {ARGUMENTS} FROM samples"
    prediction = f"predict('{function}', {ARGUMENTS})"
    statements = {
        "scan/churn_scan": f"SELECT sum({function}_scan({ARGUMENTS})) FROM samples",
        "scan/churn_rows": f"SELECT sum(prediction) FROM {rows}')",
        "scan/predict": f"SELECT sum({prediction}) FROM samples",
        "scan/control": f"SELECT sum({CONTROL}) FROM samples",
        "planning": f"SELECT * FROM {rows} LIMIT 1')",
    }
    defined = "SELECT FROM pg_proc WHERE proname = %s"
    if connection.execute(defined, (f"{function}_explain",)).rowcount:
        statements["explain"] = f"SELECT {function}_explain({ARGUMENTS}) FROM samples WHERE id = 1"
    single = {"churn": f"{function}({ARGUMENTS})", "predict": prediction, "control": CONTROL}
    measures = {name: partial(seconds, connection, text) for name, text in statements.items()}
    for name, text in single.items():
        measures[f"one/{name}"] = partial(_one_row, connection, text)
    series = interleaved(measures, REPETITIONS, warm_ups=1)
    return {"script": len(script), "series": series | _fresh(cluster, function)}


def measure() -> dict[str, Any]:
    """Measures every model."""
    with running({"jit": "off"}) as cluster, cluster.connect("postgres") as connection:
        connection.execute("DROP EXTENSION IF EXISTS pgboost CASCADE; CREATE EXTENSION pgboost")
        connection.execute("DROP TABLE IF EXISTS samples")
        connection.execute(TABLE)
        connection.execute("VACUUM ANALYZE samples")
        connection.execute("SET plan_cache_mode = force_generic_plan")
        rows = connection.execute(f"SELECT {ARGUMENTS} FROM samples LIMIT {TRAINED}").fetchall()
        X = np.array(rows, dtype=np.float32)
        subjects = {
            name: _subject(cluster, connection, f"churn_{number}", fit(X, COLUMNS, *shape))
            for number, (name, (fit, *shape)) in enumerate(MODELS.items())
        }
        ((version,),) = connection.execute("SHOW server_version").fetchall()
    return {
        "subjects": subjects, "rows": ROWS,
        "versions": {"postgresql": version} | packages(["catboost", "lightgbm", "xgboost-cpu"]),
    }  # fmt: skip


def main() -> None:
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    path = keep(RESULTS, "functions", measure)
    print("\n" + page("part-of-managed.md", path.parent))


if __name__ == "__main__":
    main()
