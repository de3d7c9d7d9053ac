"""`make demo`: a million flights, a model, and the same predictions in SQL and in Python.

Prints one line per result, or with `--verbose` each step with its findings. Fails if a single prediction
differs. It may be run again and skips finished steps. `make demo-stop` stops the cluster.
"""

import argparse
import io
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext, redirect_stdout
from functools import partial
from pathlib import Path

import numpy as np
import psycopg
import xgboost
from numpy.typing import NDArray

from bench.interleaving import interleaved
from bench.training import copied
from data.columns import FEATURES, TARGET
from data.flights import Request
from tools.cluster import Cluster, ClusterError
from tools.workbench import preparation
from tools.workbench.console import Teller, say, table
from tools.workbench.preparation import DATABASE
from tools.workbench.queries import COLUMNS, CONTROL, FORMS, JSONB_CONTROL, MODEL, predict
from tools.workbench.training import Recipe

STEPS = 9
ROUNDS_OF_TRAINING = 25
SCANS = 3
SQL_MODEL = "flights_sql"
TRAIN = "SELECT set, metric, value FROM train_model(%s, 'flights', %s, rounds => %s)"


def differing_rows(fetched: NDArray[np.float32], model: xgboost.Booster) -> NDArray[np.int64]:
    """Returns the rows whose predictions are not bit for bit XGBoost's for the features."""
    features, predicted = np.ascontiguousarray(fetched[:, :-1]), fetched[:, -1].copy()
    expected = model.predict(xgboost.DMatrix(features, feature_names=FEATURES))
    return np.flatnonzero(predicted.view(np.uint32) != expected.view(np.uint32))


def compare(teller: Teller, connection: psycopg.Connection, path: Path, rows: int) -> int:
    """Compares all rows in all forms; returns how many predictions differ.

    A binary COPY fetches each row's features with its prediction, so that neither the order of rows nor a
    conversion to text matters.
    """
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


def train_in_sql(teller: Teller, cluster: Cluster) -> tuple[int, int]:
    """Trains in SQL, and returns the numbers of margins of pgboost and libxgboost compared and differing."""
    rounds = ROUNDS_OF_TRAINING
    title = f"SELECT * FROM train_model('{SQL_MODEL}', 'flights', '{TARGET}', rounds => {rounds})"
    with teller.step(title), cluster.connect(DATABASE) as connection:
        # Another build of the same version may have been installed.
        connection.execute("DROP EXTENSION IF EXISTS pgboost_train; CREATE EXTENSION pgboost_train")
        given = (SQL_MODEL, TARGET, rounds)
        ((_, metric, value),) = connection.execute(TRAIN, given).fetchall()
        say(f"{metric} on the rows that it was trained on: {value:.2f}")
        query = f"SELECT {', '.join(FEATURES)} FROM flights"
        rows, different, _ = connection.execute(
            "SELECT * FROM verify_model(%s, %s)", (SQL_MODEL, query)
        ).fetchone()
        say(f"{rows:,} margins of pgboost and libxgboost compared: {different} differ")
    return rows, different


def show(teller: Teller, connection: psycopg.Connection) -> None:
    """Shows the model's row of pgboost_models, and ten flights."""
    with teller.step("look: SELECT * FROM pgboost_models, and ten flights"):
        models = connection.execute("SELECT * FROM pgboost_models WHERE name = %s", (MODEL,))
        # One line per column: the view is wider than a terminal.
        names = [column.name for column in models.description]
        for row in models:
            table(("pgboost_models", "value"), [*zip(names, map(str, row), strict=True)])
        say("")
        flights = connection.execute(
            "SELECT year::int, month::int, dayofmonth::int AS day, originairportid::int AS origin,"
            " destairportid::int AS destination, depdelayminutes::int AS delay,"
            f" {predict('row')} AS predicted FROM flights f LIMIT 10"
        )
        table([column.name for column in flights.description], flights.fetchall())


def _scan(connection: psycopg.Connection, expression: str) -> float:
    """Measures the seconds of the sum over all flights."""
    began = time.perf_counter()
    connection.execute(f"SELECT sum({expression}) FROM flights f").fetchone()
    return time.perf_counter() - began


def time_scans(
    teller: Teller, connection: psycopg.Connection, rows: int, expressions: dict[str, str]
) -> list[str]:
    """Measures the rows per second of full scans, the first with the cheapest function."""
    with teller.step("full scan: SELECT sum(predict(...)) FROM flights, in one process"):
        connection.execute("SET max_parallel_workers_per_gather = 0")
        scans = {name: partial(_scan, connection, one) for name, one in expressions.items()}
        best = {name: min(took) for name, took in interleaved(scans, SCANS).items()}
        connection.execute("RESET max_parallel_workers_per_gather")
        control = next(iter(best.values()))
        lines = [(name, f"{rows / b:,.0f}", f"{b / control:.2f}") for name, b in best.items()]
        table((f"best of {SCANS}", "rows per second", "time, array_length = 1"), lines)
    return [per_second for _, per_second, _ in lines]


def results() -> Callable[[str], None]:
    """Returns a function that prints a result, with the seconds since the last one, to the real stdout."""
    terminal, began = sys.stdout, time.monotonic()

    def result(text: str) -> None:
        nonlocal began
        print(f"{text} ({time.monotonic() - began:.0f} s)", file=terminal, flush=True)
        began = time.monotonic()

    return result


def run(rows: int, result: Callable[[str], None], verbose: bool) -> tuple[Cluster, int]:
    """Runs the demo; returns its cluster and the number of predictions that differ."""
    teller = Teller(STEPS)
    cluster = preparation.start_cluster(teller)
    with preparation.create_extension(teller, cluster) as connection:
        preparation.load_flights(teller, connection, Request(rows))
        result(f"{rows:,} flights in a separate PostgreSQL cluster, with pgboost")
        model = preparation.train(teller, Recipe(rows, ROUNDS_OF_TRAINING))
        preparation.load_model(teller, connection, model)
        result(
            f"{ROUNDS_OF_TRAINING} trees of XGBoost, loaded: minutes of delay with a root mean square"
            f" error of {model.rmse:.2f} ({model.rmse_of_mean:.2f} without a model)"
        )
        different = compare(teller, connection, model.path, rows)
        result(
            f"predict by columns, array, row and jsonb: {len(FORMS) * rows:,} predictions,"
            f" {different:,} differ from XGBoost's"
        )
        margins, differing = train_in_sql(teller, cluster)
        result(f"train_model in SQL: {margins:,} margins, {differing:,} differ from libxgboost's")
        expressions = {
            "array_length(ARRAY[...], 1)": CONTROL,
            "predict, columns": predict("columns"),
        }
        if verbose:
            show(teller, connection)
            expressions |= {f"predict, {form}": predict(form) for form in FORMS}
            expressions["to_jsonb(f) without predict"] = JSONB_CONTROL
        cheapest, predicted, *_ = time_scans(teller, connection, rows, expressions)
        result(
            f"SELECT sum(predict(...)): {predicted} rows per second in one process;"
            f" with array_length(ARRAY[...], 1) instead: {cheapest}"
        )
    return cluster, different + differing


def main() -> None:
    """Runs the demo, and fails if SQL and XGBoost disagree."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000, help="default: %(default)s")
    parser.add_argument("--verbose", action="store_true", help="say each step and what it found")
    arguments = parser.parse_args()
    verbose = arguments.verbose
    result = (lambda _: None) if verbose else results()
    try:
        with nullcontext() if verbose else redirect_stdout(io.StringIO()):
            cluster, different = run(arguments.rows, result, verbose)
    except (ClusterError, psycopg.OperationalError) as error:
        sys.exit(f"error: {error}")
    print(f"Look around, until `make demo-stop`: psql '{cluster.conninfo(DATABASE)}'")
    if different:
        sys.exit(f"error: {different:,} predictions differ from XGBoost's")


if __name__ == "__main__":
    main()
