"""`python -m tests.extension.batch`: measures queries with batches, without, and without `predict`.

Also what planning a one-row query takes, and one that reads as many rows but predicts nothing.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import psycopg

import lightgbm
from bench.inside.scans import ONE_PROCESS
from bench.inside.series import BATCHES, Subject, subject
from bench.inside.site import STATE, Measure, running, seconds, set_
from bench.interleaving import interleaved
from bench.record import RESULTS, keep
from bench.report.pages import page
from data.flights import Request
from tests.connections import plan_of
from tests.extension.batch.shapes import SHAPES, TABLES, Shape, unsent
from tools.workbench import preparation
from tools.workbench.console import Teller
from tools.workbench.preparation import DATABASE
from tools.workbench.training import Recipe, departed

OPTIONS = {"rows": (60_000, "flights"), "repetitions": (5, "of everything")}
# XGBoost's models, by their labels: the names that statements have for them, trees and depth; and LightGBM's.
MODELS = {"25x6": ("small", 25, 6), "200x8": ("large", 200, 8)}
LEAFWISE = "100x31", "leafwise"
PREPARATION = 5
CONTROL = "control"


def _undone(connection: psycopg.Connection, statement: str, settings: dict[str, object]) -> float:
    with connection.transaction(force_rollback=True):
        set_(connection, settings)
        return seconds(connection, statement)


def _measured(connection: psycopg.Connection, statement: str, batch: str) -> Measure:
    settings = {**ONE_PROCESS, "pgboost.enable_batch": batch}
    return lambda: _undone(connection, unsent(statement), settings)


def train_leafwise(path: Path, rows: int) -> bytes:
    """The file of a model of LightGBM's defaults: 100 trees of 31 leaves."""
    features, delay = departed(Recipe(rows, 100))
    params = {"verbosity": -1, "num_threads": 1}
    lightgbm.train(params, lightgbm.Dataset(features, delay)).save_model(path)
    return path.read_bytes()


def of_shape(connection: psycopg.Connection, shape: Shape, repetitions: int) -> Subject:
    """Seconds: `MODEL/on`, `MODEL/off`, `control`."""
    # Explanations by the large model take minutes row by row.
    models = {
        label: name
        for label, (name, *_) in MODELS.items()
        if name == "small" or shape.function in ("predict", "predict_array")
    }
    if shape.leafwise:
        models |= dict([LEAFWISE])
    measures: dict[str, Measure] = {CONTROL: _measured(connection, shape.control(), "on")}
    for label, name in models.items():
        for batch in BATCHES:
            measures[f"{label}/{batch}"] = _measured(connection, shape.statement(name), batch)
    return subject("s", interleaved(measures, repetitions, warm_ups=1))


def measure(given: argparse.Namespace) -> dict[str, Any]:
    """All shapes."""
    teller = Teller(PREPARATION + len(SHAPES))
    with running() as cluster:
        with preparation.create_extension(teller, cluster, STATE) as connection:
            preparation.load_flights(teller, connection, Request(given.rows))
            for name, rounds, depth in MODELS.values():
                recipe = Recipe(given.rows, rounds, depth)
                model = preparation.train(teller, recipe, name, STATE)
                preparation.load_unless_loaded(connection, model, name)
            leafwise = train_leafwise(STATE / "leafwise.txt", given.rows)
            connection.execute("SELECT load_model(%s, %s)", (LEAFWISE[1], leafwise))
            connection.execute("SET client_min_messages = warning")
            connection.execute(TABLES)
            connection.execute("VACUUM ANALYZE events, products")
        subjects, shapes = {}, {}
        for name, shape in SHAPES.items():
            with teller.step(name), cluster.connect(DATABASE) as connection:
                statement = shape.statement("large")
                batch = "BatchPredict" in plan_of(connection, statement)
                shapes[name] = {"statement": statement, "batch": batch, "reason": shape.reason}
                subjects[name] = of_shape(connection, shape, given.repetitions)
                print(json.dumps({k: min(v) for k, v in subjects[name]["series"].items()}))
        with cluster.connect(DATABASE) as connection:
            (version,) = connection.execute("SHOW server_version").fetchone()
    return {
        "rows": given.rows, "postgresql": version, "repetitions": given.repetitions,
        "shapes": shapes, "subjects": subjects,
    }  # fmt: skip


def main() -> None:
    """Measures, records, and prints the part of the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, (default, what) in OPTIONS.items():
        parser.add_argument(f"--{name}", type=int, default=default, help=f"{what}; %(default)s")
    given = parser.parse_args()
    path = keep(RESULTS, "queries", lambda: measure(given))
    print("\n" + page("queries", path.parent))


if __name__ == "__main__":
    main()
