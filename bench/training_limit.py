"""`python -m bench.training_limit`: the largest table that each way of training can take in so much memory.

Each try trains two rounds, which take all the memory that more would, in a process that may have no more
private memory than the limit (RLIMIT_DATA): Python's own, or the backend and the trainer, which inherit it
from the server. A try that ends with any error did not fit; the largest that does is found by halving.
Writes training-limit.json.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import psycopg

from bench import machine, record, training
from bench.hosts.host import ROOT
from cluster import start, stop
from data.flights import Request
from data.load import copy_rows, create_table, generated
from workbench.tell import say

STATE = ROOT / ".bench" / "training-limit"
PREFERRED_PORT = 54380
DATABASE = "training_limit"
VIEW = "some_flights"
ROUNDS = 2
IN_SQL = "postgresql"
# A process that imports nothing more than what trains.
TRY = (
    "import json, sys; from bench import training;"
    " print(json.dumps(training.train(**json.loads(sys.argv[1]))))"
)


def largest(fits: Callable[[int], bool], most: int, step: int) -> int:
    """The largest multiple of the step, up to the most, that fits; 0 where none does."""
    low, high = 0, most // step
    if fits(high * step):
        return high * step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle * step) else (low, middle)
    return low * step


@contextmanager
def at_most(limit: int) -> Iterator[None]:
    """What is started meanwhile has no more private memory than so many bytes."""
    before = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)


class Limits:
    """A table in a throw-away cluster, and as many of its rows as a try wants."""

    def __init__(self, state: Path, gib: float) -> None:
        self._limit = int(gib * (1 << 30))
        self._tries: list[dict[str, Any]] = []
        with at_most(self._limit):
            cluster, _ = start(state, PREFERRED_PORT, {})
        cluster.create_database(DATABASE, replace=True)
        self._conninfo = cluster.conninfo(DATABASE)

    def _train(self, what: str) -> dict[str, Any] | str:
        """A Training's fields, from a process of its own; or how it failed."""
        asked = {"what": what, "conninfo": self._conninfo, "table": VIEW}
        asked |= {"rounds": ROUNDS, "threads": os.cpu_count()}
        command = [sys.executable, "-c", TRY, json.dumps(asked)]
        with nullcontext() if what.startswith(IN_SQL) else at_most(self._limit):
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return json.loads(done.stdout)
        return f"status {done.returncode}: {done.stderr.strip().splitlines()[-1:]}"

    def fill(self, rows: int) -> None:
        """So many flights."""
        with psycopg.connect(self._conninfo, autocommit=True) as connection:
            connection.execute("CREATE EXTENSION pgboost_train CASCADE")
            create_table(connection)
            copy_rows(connection, generated(Request(rows)), rows)

    def _fits(self, what: str, rows: int) -> bool:
        with psycopg.connect(self._conninfo, autocommit=True) as connection:
            connection.execute(f"CREATE OR REPLACE VIEW {VIEW} AS TABLE flights LIMIT {rows}")
        found = self._train(what)
        fits = not isinstance(found, str)
        said = f"{found['seconds']:.1f} s" if fits else found
        say(f"{what}, {rows:,} rows: {said}")
        self._tries.append({"what": what, "rows": rows, "found": found})
        return fits

    def measure(self, most: int, step: int) -> dict[str, Any]:
        """The largest table of each way, and all tries."""
        found = {
            what: largest(lambda rows, what=what: self._fits(what, rows), most, step)
            for what in training.WAYS
        }
        return {"limit_bytes": self._limit, "most_rows": most, "step": step,
                "largest_rows": found, "tries": self._tries}  # fmt: skip


def main() -> None:
    """Measures and writes the result."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gib", type=float, default=4.0, help="of memory; default: %(default)s")
    parser.add_argument("--most", type=int, default=32_000_000, help="rows; default: %(default)s")
    parser.add_argument("--step", type=int, default=500_000, help="rows; default: %(default)s")
    parser.add_argument("--output", type=Path, default=record.RESULTS)
    given = parser.parse_args()
    if given.most < given.step:
        sys.exit("error: --most must be at least --step")
    began = record.now()
    stop(STATE, delete=True)
    try:
        limits = Limits(STATE, given.gib)
        limits.fill(given.most)
        found = limits.measure(given.most, given.step)
    finally:
        stop(STATE, delete=True)
    result = {
        "schema": 1,
        "started": began,
        "commit": record.commit(),
        "machine": machine.facts(),
        **found,
    }
    path = record.directory(given.output, "training-limit") / "training-limit.json"
    record.write(path, result)
    say(f"results in {path}")


if __name__ == "__main__":
    main()
