"""`make speed`: what predict adds to the query around it, each beside its target.

Uses the demo's cluster, flights and model. Every figure is a ratio or a difference
of two things measured in turn in this run; nothing here fails for being slow.
"""

import argparse
import statistics
import sys

import psycopg

from cluster import Cluster, ClusterError
from data.columns import FEATURES, LOOKED_UP
from data.flights import Request
from demo import preparation
from demo.preparation import DATABASE
from demo.queries import CONTROL, predict
from demo.tell import Teller, say, table
from demo.timing import OneRow, median_ratio, pgbench_in_turn, scans_in_turn
from demo.training import Recipe
from speed.fresh import FLOOR, first_statements
from speed.workers import scans_by_workers

STEPS = 10
ROWS = 1_000_000
LARGE_MODEL = "flights_large"
LARGE = Recipe(rows=200_000, rounds=500, depth=8)
# Targets, as printed beside each figure.
ONE_ROW_TARGET = 0.92
SCAN_TARGET = 1.1
WORKERS_TARGET = 1.8
FIRST_SECONDS_TARGET = 0.003
FIRST_BYTES_TARGET = 2 * 1024 * 1024


def one_row(teller: Teller, cluster: Cluster, seconds: int, rounds: int) -> None:
    """The one-row query with predict against the same with array_length."""
    lines = []
    with teller.step(f"pgbench, the one-row query, {rounds} rounds of {seconds} s in turn"):
        for protocol in ("simple", "prepared"):
            for clients in (1, 5):
                how = OneRow(protocol, clients, seconds)
                scripts = ("predict.sql", "control.sql")
                runs = pgbench_in_turn(cluster, DATABASE, scripts, how, rounds)
                medians = (f"{statistics.median(runs[script]):,.0f}" for script in scripts)
                ratio = median_ratio(*(runs[script] for script in scripts))
                target = f"at least {ONE_ROW_TARGET}"
                lines.append((protocol, clients, *medians, f"{ratio:.3f}", target))
        header = ("protocol", "clients", "predict TPS", "array_length TPS", "ratio", "target")
        table(header, lines)


def scan(teller: Teller, connection: psycopg.Connection, rounds: int) -> None:
    """The full scan with predict against the same with array_length."""
    with teller.step(f"full scan of {ROWS:,} rows, one process, {rounds} rounds in turn"):
        runs = scans_in_turn(connection, [CONTROL, predict("columns")], rounds)
        control, predicted = (statistics.median(run) for run in runs.values())
        ratio = median_ratio(runs[predict("columns")], runs[CONTROL])
        table(
            ("expression", "ns a row", "ratio", "target"),
            [
                ("array_length(ARRAY[...], 1)", f"{control / ROWS * 1e9:.0f}", "", ""),
                (
                    "predict, columns, 25 trees",
                    f"{predicted / ROWS * 1e9:.0f}",
                    f"{ratio:.2f}",
                    f"at most {SCAN_TARGET}",
                ),
            ],
        )


def workers(teller: Teller, connection: psycopg.Connection, rounds: int) -> None:
    """The full scan by two parallel workers against the same by one."""
    with teller.step(f"full scan by one and by two parallel workers, {rounds} rounds in turn"):
        lines = []
        # The control tells how much of two cores the machine had to give.
        for name, expression, target in (
            ("array_length(ARRAY[...], 1)", CONTROL, ""),
            ("predict, 25 trees", predict("columns"), f"at least {WORKERS_TARGET}"),
            ("predict, 500 trees", predict("columns", LARGE_MODEL), f"at least {WORKERS_TARGET}"),
        ):
            runs = scans_by_workers(connection, expression, rounds)
            medians = (f"{statistics.median(runs[count]) / ROWS * 1e9:.0f}" for count in (1, 2))
            ratio = median_ratio(runs[1], runs[2])
            lines.append((name, *medians, f"{ratio:.2f}", target))
        table(("expression", "one, ns a row", "two, ns a row", "ratio", "target"), lines)


def first_prediction(teller: Teller, cluster: Cluster, connections: int) -> None:
    """The first prediction of a fresh connection against its first SELECT 1."""
    features = ", ".join(f"{LOOKED_UP.get(name, 1)}::real" for name in FEATURES)
    prediction = f"SELECT predict('{LARGE_MODEL}', {features})"
    title = f"first statement of {connections} fresh connections: {LARGE.rounds} trees"
    with teller.step(f"{title} of depth {LARGE.depth}"):
        first = first_statements(cluster, DATABASE, prediction, connections)
        floor, predicted = first[FLOOR], first[prediction]
        more_seconds = predicted.seconds - floor.seconds
        more_bytes = predicted.private - floor.private
        table(
            ("median", "SELECT 1", "predict", "more", "target"),
            [
                (
                    "time, ms",
                    *(f"{s * 1e3:.3f}" for s in (floor.seconds, predicted.seconds, more_seconds)),
                    f"at most {FIRST_SECONDS_TARGET * 1e3:.0f}",
                ),
                (
                    "private memory, kB",
                    *(f"{b / 1024:.0f}" for b in (floor.private, predicted.private, more_bytes)),
                    f"at most {FIRST_BYTES_TARGET // 1024}",
                ),
            ],
        )


def main() -> None:
    """Prepares as the demo does, then measures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=2, help="of a pgbench run; %(default)s")
    parser.add_argument("--rounds", type=int, default=11, help="of each pair; %(default)s")
    parser.add_argument("--connections", type=int, default=100, help="fresh ones; %(default)s")
    arguments = parser.parse_args()
    teller = Teller(STEPS)
    cluster = preparation.start_cluster(teller)
    with preparation.create_extension(teller, cluster) as connection:
        preparation.load_flights(teller, connection, Request(ROWS))
        small = preparation.train(teller, Recipe(ROWS, rounds=25))
        large = preparation.train(teller, LARGE, LARGE_MODEL)
        with teller.step("load both models"):
            for name, model in (("flights", small), (LARGE_MODEL, large)):
                version = preparation.load_unless_loaded(connection, model, name)
                say(f"{name}: {preparation.DONE if version is None else f'version {version}'}")
        scan(teller, connection, arguments.rounds)
        workers(teller, connection, arguments.rounds)
    one_row(teller, cluster, arguments.seconds, arguments.rounds)
    first_prediction(teller, cluster, arguments.connections)


if __name__ == "__main__":
    try:
        main()
    except (ClusterError, psycopg.OperationalError) as error:
        sys.exit(f"error: {error}")
