"""The largest table that each way of training can take in so much memory.

Each try trains two rounds, which take all the memory that more would, in a process that may have no more
private memory than the limit (RLIMIT_DATA): Python's own, or the backend and the trainer, which inherit it
from the server. A try that ends with any error did not fit; the largest that does is found by halving.
"""

import argparse
import os
import resource
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from functools import partial
from typing import Any

from bench import training
from bench.hosts import CommandFailed, local
from cluster import Cluster
from data.flights import Request
from data.load import copy_rows, create_table, generated
from speed.site import running
from workbench.tell import say

OPTIONS = {
    "gib": (4.0, "of memory"),
    "most": (32_000_000, "rows"),
    "step": (500_000, "rows"),
}
DATABASE = "training_limit"
VIEW = "some_flights"
ROUNDS = 2
IN_SQL = "postgresql"
GIB = 1 << 30


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
def at_most(gib: float) -> Iterator[None]:
    """What is started meanwhile has no more private memory."""
    before = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (int(gib * GIB), before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)


def _trained(what: str, conninfo: str, gib: float) -> dict[str, Any] | str:
    """A Training's fields, from a process that imports nothing more than what trains; or how it failed."""
    task = {"conninfo": conninfo, "table": VIEW, "rounds": ROUNDS, "threads": os.cpu_count()}
    host = local()
    try:
        # What its agent starts has the agent's limit.
        with nullcontext() if what.startswith(IN_SQL) else at_most(gib):
            return host.call("bench.training:train", apart=True, what=what, **task)
    except CommandFailed as error:
        return str(error).splitlines()[-1]
    finally:
        host.close()


def limits(cluster: Cluster, given: argparse.Namespace) -> dict[str, Any]:
    """The largest table of each way, and all tries, on a server that was started with `at_most`."""
    tries = []
    cluster.create_database(DATABASE, replace=True)
    with cluster.connect(DATABASE) as connection:
        connection.execute("CREATE EXTENSION pgboost_train CASCADE")
        create_table(connection)
        copy_rows(connection, generated(Request(given.most)), given.most)

        def fits(what: str, rows: int) -> bool:
            connection.execute(f"CREATE OR REPLACE VIEW {VIEW} AS TABLE flights LIMIT {rows}")
            found = _trained(what, cluster.conninfo(DATABASE), given.gib)
            did = not isinstance(found, str)
            said = f"{found['seconds']:.1f} s" if did else found
            say(f"{what}, {rows:,} rows: {said}")
            tries.append({"what": what, "rows": rows, "found": found})
            return did

        found = {
            what: largest(partial(fits, what), given.most, given.step) for what in training.WAYS
        }
        connection.execute("DROP TABLE flights CASCADE")
    asked = {"limit_bytes": int(given.gib * GIB), "most_rows": given.most, "step": given.step}
    return {**asked, "largest_rows": found, "tries": tries}


def measure(given: argparse.Namespace) -> dict[str, Any]:
    """On a cluster that is stopped afterwards."""
    if given.most < given.step:
        sys.exit("error: --most must be at least --step")
    with ExitStack() as stack:
        with at_most(given.gib):
            cluster = stack.enter_context(running())
        return limits(cluster, given)
