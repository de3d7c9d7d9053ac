"""`python -m speed.explained`: contributions of a million flights in SQL, against Python from the same table.

In turn: the statement in one process, with batches and without, the same that only predicts, and Python,
which takes the features out of the table by COPY and has the newest XGBoost explain them on one thread.
What SQL returns is counted, or sent to the client in COPY's binary format. Leaves explained.json in a new
directory of bench/results, and prints the medians.
"""

import argparse
import statistics
import subprocess
import sys
import time

import psycopg

from bench import machine
from bench.record import RESULTS, commit, directory, now, write
from bench.turns import in_turn
from cluster import ClusterError
from speed.record import SMALL
from speed.scans import ONE_PROCESS
from speed.site import NAMES, ROWS, Measure, Site, prepared, seconds, set_
from workbench.preparation import DATABASE
from workbench.tell import Teller, table

MODEL = NAMES[SMALL]
CONTRIBS = f"predict_contribs('{MODEL}', f)"
COUNTED = "SELECT count({}) FROM flights f"
SENT = f"COPY (SELECT {CONTRIBS} FROM flights f) TO STDOUT (FORMAT binary)"
SUM = f"SELECT sum(c::float8) FROM flights f, unnest({CONTRIBS}) AS c"
# Of sums of eleven million numbers, some of which are above and some below zero.
NEAR = 1e-4
STEPS = 7


class Python:
    """The process in which Python explains; see speed.in_python."""

    def __init__(self, site: Site) -> None:
        command = [sys.executable, "-m", "speed.in_python", str(site.files[SMALL])]
        self.conninfo = site.cluster.conninfo(DATABASE)
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._answer()
        self.copying: list[float] = []
        self.sum = 0.0

    def _answer(self) -> str:
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"Python's process ended with {self.process.wait()}")
        return line

    def asked(self) -> float:
        """The seconds of copying and explaining together."""
        self.process.stdin.write(f"{self.conninfo}\n")
        self.process.stdin.flush()
        copying, explaining, self.sum = map(float, self._answer().split())
        self.copying.append(copying)
        return copying + explaining


def _sent(connection: psycopg.Connection) -> float:
    """The seconds until all contributions have arrived."""
    set_(connection, {"pgboost.enable_batch": "on"})
    began = time.perf_counter()
    with connection.cursor().copy(SENT) as copy:
        for _ in copy:
            pass
    return time.perf_counter() - began


def measured(site: Site, repetitions: int) -> dict[str, list[float]]:
    """Seconds of each way, by repetition."""
    python = Python(site)
    with python.process, site.connect() as connection:
        set_(connection, ONE_PROCESS)

        def counted(expression: str, batch: str) -> Measure:
            def measure() -> float:
                set_(connection, {"pgboost.enable_batch": batch})
                return seconds(connection, COUNTED.format(expression))

            return measure

        measures = {
            "sql, counted": counted(CONTRIBS, "on"),
            "sql, counted, row by row": counted(CONTRIBS, "off"),
            "sql, sent to the client": lambda: _sent(connection),
            "sql, predict": counted(f"predict('{MODEL}', f)", "on"),
            "python": python.asked,
        }
        found = in_turn(measures, repetitions)
        (sum_,) = connection.execute(SUM).fetchone()
        if abs(sum_ - python.sum) > NEAR * abs(python.sum):
            raise SystemExit(f"SQL's contributions add up to {sum_}, XGBoost's to {python.sum}")
        python.process.stdin.close()
        return found | {"python, copying alone": python.copying}


def main() -> None:
    """Prepares as `make speed` does, measures and records."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=3, help="of everything; %(default)s")
    repetitions = parser.parse_args().repetitions
    teller, began = Teller(STEPS), now()
    with prepared(teller) as site:
        versions = site.versions()
        with teller.step(f"contributions of {ROWS:,} flights"):
            found = measured(site, repetitions)
    record = {
        "started": began, "finished": now(), "commit": commit(), "machine": machine.facts(),
        "versions": versions, "rows": ROWS, "model": SMALL, "unit": "s", "series": found,
    }  # fmt: skip
    place = directory(RESULTS, "explained")
    write(place / "explained.json", record)
    medians = {name: statistics.median(values) for name, values in found.items()}
    python = medians["python"]
    lines = [(name, f"{one:.2f}", f"{python / one:.1f}") for name, one in medians.items()]
    table((f"median of {repetitions}", "seconds", "times Python's speed"), lines)


if __name__ == "__main__":
    try:
        main()
    except (ClusterError, psycopg.OperationalError) as error:
        sys.exit(f"error: {error}")
