"""How far standbys are behind: a row that was committed, and a version that was deployed."""

import statistics
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import psycopg

from bench.replicas.servers import MODEL, Servers, prediction

WRITES_PER_SECOND = 500
# Of the rows written, each so manieth is looked for.
LOOKED_FOR = 10


@contextmanager
def _connections(servers: Servers) -> Iterator[list[psycopg.Connection]]:
    """One to each server."""
    with ExitStack() as stack:
        yield [
            stack.enter_context(psycopg.connect(servers.conninfo(address), autocommit=True))
            for address in servers.clusters
        ]


def _until(readers: list[psycopg.Connection], query: str, expected: tuple[object]) -> float:
    """Milliseconds until all give that answer."""
    began = time.monotonic()
    for reader in readers:
        while reader.execute(query).fetchone() != expected:
            pass
    return (time.monotonic() - began) * 1e3


def _summary(waited: list[float]) -> dict[str, float]:
    return {"count": len(waited), "median ms": statistics.median(waited), "max ms": max(waited)}


def rows(servers: Servers, seconds: int) -> dict[str, float]:
    """From a row's commit on the primary until both standbys show it."""
    waited = []
    with _connections(servers) as (writer, *readers):
        began = time.monotonic()
        for written in range(1, seconds * WRITES_PER_SECOND + 1):
            # Below 0, where nobody else writes.
            writer.execute("INSERT INTO written VALUES (%s)", (-written,))
            if written % LOOKED_FOR == 0:
                seen = f"SELECT EXISTS (SELECT FROM written WHERE id = {-written})"
                waited.append(_until(readers, seen, (True,)))
            time.sleep(max(0.0, began + written / WRITES_PER_SECOND - time.monotonic()))
    return _summary(waited)


def deploys(servers: Servers, count: int) -> dict[str, float]:
    """From the return of deploy_model until both standbys answer by that version."""
    query = "SELECT {} FROM flights WHERE ctid = '(0,1)'"
    waited = []
    with _connections(servers) as (writer, *readers):
        expected = {
            version: writer.execute(query.format(prediction(f"{MODEL}@{version}"))).fetchone()
            for version in (1, 2)
        }
        for deploy in range(count):
            version = 1 + deploy % 2
            writer.execute("SELECT deploy_model(%s)", (f"{MODEL}@{version}",))
            waited.append(_until(readers, query.format(prediction()), expected[version]))
    return _summary(waited)
