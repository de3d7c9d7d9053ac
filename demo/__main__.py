"""`make demo`: a million flights, a model, and the same predictions in SQL and in Python.

Ends with an error if a single prediction differs. May be run again: what is done
already is skipped. `make demo-stop` stops the cluster.
"""

import argparse
import statistics
import sys
import time
from functools import partial

import psycopg

from cluster import Cluster, ClusterError
from data.flights import Request
from demo.comparison import compare
from demo.in_sql import train_in_sql
from workbench import preparation
from workbench.queries import CONTROL, FORMS, JSONB_CONTROL, MODEL, predict
from workbench.tell import Teller, say, table
from workbench.timing import OneRow, transactions_per_second
from workbench.training import Recipe
from workbench.turns import in_turn, median_ratio

STEPS = 10
ROUNDS_OF_TRAINING = 25
SCANS = 3
PGBENCH_SECONDS = 10
PGBENCH_ROUNDS = 5


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
    """Rows a second of the full scan, beside the scan with the cheapest function."""
    with teller.step("full scan: SELECT sum(predict(...)) FROM flights, in one process"):
        expressions = {
            "array_length(ARRAY[...], 1)": CONTROL,
            **{f"predict, {form}": predict(form) for form in FORMS},
            "to_jsonb(f) without predict": JSONB_CONTROL,
        }
        connection.execute("SET max_parallel_workers_per_gather = 0")
        scans = {text: partial(_scan, connection, text) for text in expressions.values()}
        seconds = in_turn(scans, SCANS, warm_ups=1)
        connection.execute("RESET max_parallel_workers_per_gather")
        control = min(seconds[CONTROL])
        lines = []
        for name, expression in expressions.items():
            best = min(seconds[expression])
            lines.append((name, f"{rows / best:,.0f}", f"{best / control:.2f}"))
        table((f"best of {SCANS}", "rows a second", "time, array_length = 1"), lines)


def time_one_row(teller: Teller, cluster: Cluster) -> None:
    """Transactions a second of the benchmark's query, with predict and without."""
    how = OneRow("simple", clients=1, seconds=PGBENCH_SECONDS // PGBENCH_ROUNDS)
    title = f"pgbench, {PGBENCH_SECONDS} s each: the one-row query with predict and without"
    with teller.step(title):
        scripts = ("predict.sql", "nopredict.sql")
        ask = {
            name: partial(transactions_per_second, cluster, preparation.DATABASE, name, how)
            for name in scripts
        }
        runs = in_turn(ask, PGBENCH_ROUNDS)
        table(
            ("one client, simple protocol", "transactions a second"),
            [(f"sql/{script}", f"{statistics.median(runs[script]):,.0f}") for script in scripts],
        )
        ratio = median_ratio(*(runs[script] for script in scripts))
        say(f"with predict it does {ratio:.2f} of the query without (medians of {PGBENCH_ROUNDS})")


def run(rows: int) -> int:
    """The demo; returns how many predictions differ."""
    request = Request(rows)
    teller = Teller(STEPS)
    cluster = preparation.start_cluster(teller)
    with preparation.create_extension(teller, cluster) as connection:
        preparation.load_flights(teller, connection, request)
        recipe = Recipe(rows, ROUNDS_OF_TRAINING)
        model = preparation.train(teller, recipe)
        preparation.load_model(teller, connection, model)
        different = compare(teller, connection, model.path, rows)
        different += train_in_sql(teller, cluster, recipe)
        show(teller, connection)
        time_scans(teller, connection, rows)
        time_one_row(teller, cluster)
    print("\nThe cluster runs on. Look around in it; `make demo-stop` stops it:\n")
    print(f"    psql '{cluster.conninfo(preparation.DATABASE)}'\n")
    return different


def main() -> None:
    """Runs the demo and fails where SQL and XGBoost disagree."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000, help="default: %(default)s")
    arguments = parser.parse_args()
    try:
        different = run(arguments.rows)
    except (ClusterError, psycopg.OperationalError) as error:
        sys.exit(f"error: {error}")
    if different:
        sys.exit(f"error: {different:,} predictions differ from XGBoost's")
    print("Every prediction equals XGBoost's, to the bit.")


if __name__ == "__main__":
    main()
