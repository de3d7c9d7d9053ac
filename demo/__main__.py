"""`make demo`: a million flights, a model, and the same predictions in SQL and in Python.

Ends with an error if a single prediction differs. May be run again: what is done
already is skipped. `make demo-stop` stops the cluster.
"""

import argparse
import sys
import time
from functools import partial

import psycopg

from bench.turns import in_turn
from cluster import Cluster, ClusterError
from data.columns import FEATURES, TARGET
from data.flights import Request
from demo.comparison import compare
from workbench import preparation
from workbench.preparation import DATABASE
from workbench.queries import CONTROL, FORMS, JSONB_CONTROL, MODEL, predict
from workbench.tell import Teller, say, table
from workbench.training import Recipe

STEPS = 9
ROUNDS_OF_TRAINING = 25
SCANS = 3
SQL_MODEL = "flights_sql"
TRAIN = "SELECT set, metric, value FROM train_model(%s, 'flights', %s, rounds => %s)"


def train_in_sql(teller: Teller, cluster: Cluster) -> int:
    """Trains in SQL, and compares pgboost's margins with libxgboost's; how many differ."""
    rounds = ROUNDS_OF_TRAINING
    title = f"SELECT * FROM train_model('{SQL_MODEL}', 'flights', '{TARGET}', rounds => {rounds})"
    with teller.step(title), cluster.connect(DATABASE) as connection:
        # Another build may have been installed under the same version.
        connection.execute("DROP EXTENSION IF EXISTS pgboost_train; CREATE EXTENSION pgboost_train")
        given = (SQL_MODEL, TARGET, rounds)
        ((_, metric, value),) = connection.execute(TRAIN, given).fetchall()
        say(f"{metric} on the rows that it was trained on: {value:.2f}")
        query = f"SELECT {', '.join(FEATURES)} FROM flights"
        rows, different, _ = connection.execute(
            "SELECT * FROM verify_model(%s, %s)", (SQL_MODEL, query)
        ).fetchone()
        say(f"{rows:,} margins of pgboost and libxgboost compared: {different} differ")
    teller.result(f"train_model in SQL: {rows:,} margins, {different:,} differ from libxgboost's")
    return different


def show(teller: Teller, connection: psycopg.Connection) -> None:
    """The model's line of the view, and ten flights."""
    with teller.step("look: SELECT * FROM pgboost_models, and ten flights"):
        models = connection.execute("SELECT * FROM pgboost_models WHERE name = %s", (MODEL,))
        # One line a column: the view is wider than a terminal.
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
    """Seconds that the sum over all flights takes."""
    began = time.perf_counter()
    connection.execute(f"SELECT sum({expression}) FROM flights f").fetchone()
    return time.perf_counter() - began


def time_scans(teller: Teller, connection: psycopg.Connection, rows: int) -> None:
    """Rows per second of the full scan, beside the scan with the cheapest function."""
    with teller.step("full scan: SELECT sum(predict(...)) FROM flights, in one process"):
        expressions = {
            "array_length(ARRAY[...], 1)": CONTROL,
            **{f"predict, {form}": predict(form) for form in FORMS},
            "to_jsonb(f) without predict": JSONB_CONTROL,
        }
        connection.execute("SET max_parallel_workers_per_gather = 0")
        scans = {name: partial(_scan, connection, one) for name, one in expressions.items()}
        best = {name: min(took) for name, took in in_turn(scans, SCANS).items()}
        connection.execute("RESET max_parallel_workers_per_gather")
        control = next(iter(best.values()))
        lines = [(name, f"{rows / b:,.0f}", f"{b / control:.2f}") for name, b in best.items()]
        table((f"best of {SCANS}", "rows per second", "time, array_length = 1"), lines)
    (_, cheapest, _), (_, predicted, _), *_ = lines
    teller.result(
        f"SELECT sum(predict(...)): {predicted} rows per second in one process;"
        f" with array_length(ARRAY[...], 1) instead: {cheapest}"
    )


def run(rows: int, verbose: bool) -> int:
    """The demo; returns how many predictions differ."""
    teller = Teller(STEPS, brief=not verbose)
    cluster = preparation.start_cluster(teller)
    with preparation.create_extension(teller, cluster) as connection:
        preparation.load_flights(teller, connection, Request(rows))
        teller.result(f"{rows:,} flights in a separate PostgreSQL cluster, with pgboost")
        model = preparation.train(teller, Recipe(rows, ROUNDS_OF_TRAINING))
        preparation.load_model(teller, connection, model)
        teller.result(
            f"{ROUNDS_OF_TRAINING} trees of XGBoost, loaded: minutes of delay with a root mean square"
            f" error of {model.rmse:.2f} ({model.rmse_of_mean:.2f} without a model)"
        )
        different = compare(teller, connection, model.path, rows)
        different += train_in_sql(teller, cluster)
        show(teller, connection)
        time_scans(teller, connection, rows)
    print(f"Look around, until `make demo-stop`: psql '{cluster.conninfo(DATABASE)}'")
    return different


def main() -> None:
    """Runs the demo and fails where SQL and XGBoost disagree."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000, help="default: %(default)s")
    parser.add_argument("--verbose", action="store_true", help="say each step and what it found")
    arguments = parser.parse_args()
    try:
        different = run(arguments.rows, arguments.verbose)
    except (ClusterError, psycopg.OperationalError) as error:
        sys.exit(f"error: {error}")
    if different:
        sys.exit(f"error: {different:,} predictions differ from XGBoost's")


if __name__ == "__main__":
    main()
