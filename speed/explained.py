"""Contributions of a million flights in SQL, against Python from the same table.

In turn: the statement in one process, with batches and without, the same that only predicts, and Python,
which takes the features out of the table by COPY and has the newest XGBoost explain them on one thread.
What SQL returns is counted, or sent to the client in COPY's binary format.
"""

import argparse
import statistics
import time
from typing import Any

import psycopg

from bench.turns import in_turn
from speed.beside import Beside, explain_all, hold_models
from speed.scans import ONE_PROCESS, measured
from speed.series import SMALL
from speed.site import NAMES, PREPARATION, ROWS, Site, prepared, running, set_
from workbench.preparation import DATABASE
from workbench.tell import Teller, table

OPTIONS = {"repetitions": (3, "of everything")}
MODEL = NAMES[SMALL]
CONTRIBS = f"predict_contribs('{MODEL}', f)"
COUNTED = "SELECT count({}) FROM flights f"
SENT = f"COPY (SELECT {CONTRIBS} FROM flights f) TO STDOUT (FORMAT binary)"
SUM = f"SELECT sum(c::float8) FROM flights f, unnest({CONTRIBS}) AS c"
# Of sums of eleven million numbers, some of which are above and some below zero.
NEAR = 1e-4


def _sent(connection: psycopg.Connection) -> float:
    """The seconds until all contributions have arrived."""
    set_(connection, {"pgboost.enable_batch": "on"})
    began = time.perf_counter()
    with connection.cursor().copy(SENT) as copy:
        for _ in copy:
            pass
    return time.perf_counter() - began


def series(site: Site, repetitions: int) -> dict[str, list[float]]:
    """Seconds of each way, by repetition."""
    copying, conninfo, total = [], site.cluster.conninfo(DATABASE), 0.0
    with Beside(hold_models, site.files) as python, site.connect() as connection:
        set_(connection, ONE_PROCESS)

        def in_python() -> float:
            nonlocal total
            copied, explained, total = python.ask(explain_all, SMALL, conninfo)
            copying.append(copied)
            return copied + explained

        measures = {
            "sql, counted": measured(connection, COUNTED.format(CONTRIBS)),
            "sql, counted, row by row": measured(connection, COUNTED.format(CONTRIBS), "off"),
            "sql, sent to the client": lambda: _sent(connection),
            "sql, predict": measured(connection, COUNTED.format(f"predict('{MODEL}', f)")),
            "python": in_python,
        }
        found = in_turn(measures, repetitions)
        (sum_,) = connection.execute(SUM).fetchone()
    if abs(sum_ - total) > NEAR * abs(total):
        raise SystemExit(f"SQL's contributions add up to {sum_}, XGBoost's to {total}")
    return found | {"python, copying alone": copying}


def measure(given: argparse.Namespace) -> dict[str, Any]:
    """Prepares as `make speed` does, measures, and prints the medians."""
    teller = Teller(PREPARATION + 1)
    with running() as cluster:
        site = prepared(cluster, teller)
        versions = site.versions()
        with teller.step(f"contributions of {ROWS:,} flights"):
            found = series(site, given.repetitions)
    medians = {name: statistics.median(values) for name, values in found.items()}
    lines = [(name, one, medians["python"] / one) for name, one in medians.items()]
    table((f"median of {given.repetitions}", "seconds", "times Python's speed"), lines)
    return {"versions": versions, "rows": ROWS, "model": SMALL, "unit": "s", "series": found}
