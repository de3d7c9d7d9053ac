"""The full scan with predict, in every form of its arguments, against the same without.

One process, over all flights. The control is the cheapest function of the same ten columns, and
for jsonb the making of the object; the plain scan counts the last column, so that all are taken out of
the row. XGBoost's own batch, `inplace_predict` on one thread, takes its
turn in a process of its own that has the same rows in memory; both give the same bits first.
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

from data.columns import FEATURES
from speed.record import BATCHES, LARGE, SMALL, Subject
from speed.sessions import Measure, seconds, set_
from speed.site import NAMES, ROWS, Site, columns
from workbench.queries import CONTROL, FORMS, JSONB_CONTROL, predict
from workbench.turns import in_turn

ONE_PROCESS = {"max_parallel_workers_per_gather": 0}
# The predictions' bits as whole numbers, so that their sum does not depend on the order.
BITS = "sum(('x' || encode(float4send({}), 'hex'))::bit(32)::int::bigint)"


class Different(Exception):
    """Predictions of SQL that are not XGBoost's."""


class InMemory:
    """The process in which XGBoost predicts for rows that lie in memory."""

    def __init__(self, site: Site) -> None:
        models = [f"{label}={path}" for label, path in site.files.items()]
        command = [sys.executable, "-m", "speed.in_memory", str(ROWS), *models]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.version = self._answer()

    def _answer(self) -> str:
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"XGBoost's process ended with {self._process.wait()}")
        return line.strip()

    def asked(self, label: str) -> tuple[float, int]:
        """The seconds that the predictions of all rows took, and the sum of their bits."""
        self._process.stdin.write(f"{label}\n")
        self._process.stdin.flush()
        taken, bits = self._answer().split()
        return float(taken), int(bits)

    def stop(self) -> None:
        """Ends the process."""
        self._process.stdin.close()
        self._process.wait()


@contextmanager
def in_memory(site: Site) -> Iterator[InMemory]:
    """XGBoost, ready to be asked."""
    process = InMemory(site)
    try:
        yield process
    finally:
        process.stop()


def check(connection: psycopg.Connection, xgboost: InMemory) -> None:
    """Raises unless SQL gives XGBoost's bits, with batches and without; it warms the cache as well."""
    for label in (SMALL, LARGE):
        _, expected = xgboost.asked(label)
        for batch in BATCHES:
            set_(connection, {**ONE_PROCESS, "pgboost.enable_batch": batch})
            query = f"SELECT {BITS.format(columns(label))} FROM flights f"
            (found,) = connection.execute(query).fetchone()
            if found != expected:
                raise Different(f"{label}, batches {batch}: SQL does not give XGBoost's bits")


def _scan(connection: psycopg.Connection, expression: str, batch: str) -> Measure:
    def measure() -> float:
        set_(connection, {"pgboost.enable_batch": batch})
        return seconds(connection, f"SELECT {expression} FROM flights f")

    return measure


def scans(site: Site, xgboost: InMemory, repetitions: int) -> Subject:
    """Seconds of the whole scan: `plain`, `control`, `jsonb control`, `MODEL/FORM/on`, `xgboost/MODEL`."""
    with site.connect() as connection:
        set_(connection, ONE_PROCESS)
        measures: dict[str, Measure] = {
            "plain": _scan(connection, f"count({FEATURES[-1]})", "on"),
            "control": _scan(connection, f"sum({CONTROL})", "on"),
            "jsonb control": _scan(connection, f"sum({JSONB_CONTROL})", "on"),
        }
        for label in (SMALL, LARGE):
            measures[f"xgboost/{label}"] = lambda label=label: xgboost.asked(label)[0]
            for form in FORMS:
                for batch in BATCHES:
                    expression = f"sum({predict(form, NAMES[label])})"
                    measures[f"{label}/{form}/{batch}"] = _scan(connection, expression, batch)
        return Subject("s", in_turn(measures, repetitions))
