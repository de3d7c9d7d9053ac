"""Deploying under load: the longest statement of any connection, and stale answers.

Connections predict in a loop, each in a separate process, while another one alternately deploys two versions,
or loads new versions of the large model, in separate spans with a span of rest between them. A statement
belongs to the span in which it began. An answer is stale if its statement began after a commit had returned,
ended before the next change, and is not that version's. All processes share the monotonic clock.
"""

import itertools
import multiprocessing
import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.synchronize import Event, Semaphore

import numpy as np
import psycopg
from numpy.typing import NDArray

from bench.inside import series
from bench.inside.series import LARGE, SMALL, Subjects, subject
from bench.inside.site import CONSTANTS, Site
from tools.cluster import ClusterError
from tools.workbench.preparation import DATABASE

MODEL = "switched"
PAUSE = 0.1
# The first decimal digit of the base score in UBJSON.
BASE_SCORE = re.compile(rb"base_scoreS.{1,9}?\[?[-+]?\d\.(\d)", re.DOTALL)
LOAD = "SELECT load_model(%s, %s)"
DROP = "SELECT drop_model(name) FROM (SELECT DISTINCT name FROM pgboost_models WHERE name = %s) m"
DEPLOY = "SELECT deploy_model(%s::text || '@' || %s::int)"

# One row per statement: start, duration and answer.
Statements = NDArray[np.float64]
# The start of a change, the return of its commit, and the answer from then on.
Change = tuple[float, float, float]


def _begin(connected: Semaphore, over: Event) -> None:
    globals().update(_connected=connected, _over=over)


def _ask(conninfo: str, statement: str) -> Statements:
    """Repeats the statement in a connection until the end."""
    found = []
    with psycopg.connect(conninfo, autocommit=True) as connection:
        globals()["_connected"].release()
        while not globals()["_over"].is_set():
            began = time.monotonic()
            (answer,) = connection.execute(statement, prepare=True).fetchone()
            found.append((began, time.monotonic() - began, answer))
    return np.array(found).reshape(-1, 3)


def variants(content: bytes) -> Iterator[bytes]:
    """Yields the model with other base scores: of the same size and depth, but distinct."""
    found = BASE_SCORE.search(content)
    if not found or len(BASE_SCORE.findall(content)) != 1:
        raise ClusterError("the model's file does not name its base score once")
    for digit in b"0123456789":
        if digit != found[1][0]:
            yield content[: found.start(1)] + bytes([digit]) + content[found.end(1) :]


def _within(statements: Statements, begin: float, end: float) -> Statements:
    return statements[(statements[:, 0] >= begin) & (statements[:, 0] < end)]


def stale(statements: Statements, changes: list[Change], begin: float, end: float) -> int:
    """Counts the answers of that time by a version older than the last one committed."""
    count = 0
    for i, (_, committed, answer) in enumerate(changes):
        until = changes[i + 1][0] if i + 1 < len(changes) else end
        inside = _within(statements, max(committed, begin), min(until, end))
        # A statement still running when the next change began may have seen it.
        over = inside[:, 0] + inside[:, 1] < until
        count += int((over & (inside[:, 2] != answer)).sum())
    return count


class _Deployer:
    """A connection that changes the model, with its changes and the spans' names and times."""

    def __init__(self, connection: psycopg.Connection) -> None:
        self._connection = connection
        self._answers: dict[int, float] = {}
        self.changes: list[Change] = []
        self.spans: list[tuple[str, float, float]] = []

    def change(self, statement: str, value: bytes | int) -> int:
        """Loads a model's content, or deploys a version; returns the version."""
        began = time.monotonic()
        (version,) = self._connection.execute(statement, (MODEL, value)).fetchone()
        committed = time.monotonic()
        version = value if statement == DEPLOY else version
        if version not in self._answers:
            query = f"SELECT predict('{MODEL}@{version}', {CONSTANTS})"
            (self._answers[version],) = self._connection.execute(query).fetchone()
        self.changes.append((began, committed, self._answers[version]))
        return version

    def span(self, name: str, duration: float, act: Callable[[], object]) -> None:
        """Repeats `act` with pauses for that duration, at least once."""
        began = time.monotonic()
        while True:
            act()
            time.sleep(PAUSE)
            if time.monotonic() >= began + duration:
                break
        self.spans.append((name, began, time.monotonic()))


def _spans(deployer: _Deployer, site: Site, duration: float, repetitions: int) -> None:
    contents = [site.files[label].read_bytes() for label in (SMALL, LARGE)]
    versions = itertools.cycle([deployer.change(LOAD, content) for content in contents])
    others = itertools.cycle(variants(contents[-1]))
    for _ in range(repetitions):
        deployer.span("rest", duration, lambda: None)
        deployer.span("deploy_model", duration, lambda: deployer.change(DEPLOY, next(versions)))
        deployer.span("load_model", 0, lambda: deployer.change(LOAD, next(others)))


def deploys(site: Site) -> Subjects:
    """Measures the seconds of the longest statement by span, and stale answers."""
    asking = (site.cluster.conninfo(DATABASE), f"SELECT predict('{MODEL}', {CONSTANTS})")
    # Spawned, so that no child has the parent's connections.
    context = multiprocessing.get_context("spawn")
    signals = (context.Semaphore(0), context.Event())
    with (
        site.connect() as connection,
        ProcessPoolExecutor(series.LOAD.asking, context, _begin, signals) as pool,
    ):
        connection.execute(DROP, (MODEL,))
        deployer = _Deployer(connection)
        deployer.change(LOAD, site.files[SMALL].read_bytes())
        asked = [pool.submit(_ask, *asking) for _ in range(series.LOAD.asking)]
        try:
            # Statements before the first span warm the processes up.
            for _ in asked:
                signals[0].acquire(timeout=60)
            time.sleep(series.LOAD.seconds)
            _spans(deployer, site, series.LOAD.seconds, series.LOAD.repetitions)
        finally:
            signals[1].set()
        answers = np.concatenate([one.result() for one in asked])
        connection.execute(DROP, (MODEL,))
    longest, late = defaultdict(list), defaultdict(list)
    for name, begin, end in deployer.spans:
        inside = _within(answers, begin, end)
        longest[name].append(float(inside[:, 1].max()))
        late[name].append(float(stale(answers, deployer.changes, begin, end)))
        late[f"{name}, statements"].append(float(len(inside)))
        if name != "rest":
            took = [committed - b for b, committed, _ in deployer.changes if begin <= b < end]
            longest[f"{name} itself"].append(max(took))
    return {"deploys": subject("s", longest), "stale": subject("count", late)}
