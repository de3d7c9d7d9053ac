"""Deploying under load: the longest statement in any connection, and answers that came too late.

Connections predict in a loop while another deploys one of two versions in turn, or loads a new
version of the large model, each in a span of its own; between them is a span of rest. A statement belongs to
the span in which it began. An answer is stale if its statement began after a commit had returned
and it is not that version's; also those of the time up to the next change are looked at.
"""

import itertools
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import psycopg

from cluster import ClusterError
from speed.asking import Asked, asking
from speed.record import LARGE, SMALL, Subject
from speed.site import CONSTANTS, Site
from workbench.preparation import DATABASE

MODEL = "switched"
PAUSE = 0.1
# Its first digit after the point, in UBJSON.
BASE_SCORE = re.compile(rb"base_scoreS.{1,9}?\[?[-+]?\d\.(\d)", re.DOTALL)
LOAD = "SELECT load_model(%s, %s)"
DROP = "SELECT drop_model(name) FROM (SELECT DISTINCT name FROM pgboost_models WHERE name = %s) m"
DEPLOY = "SELECT deploy_model(%s, %s)"


# When a change began, when its commit had returned, and the answer from then on.
Change = tuple[float, float, float]


@dataclass
class _Log:
    """The changes, and the spans with their names and times."""

    changes: list[Change] = field(default_factory=list)
    spans: list[tuple[str, float, float]] = field(default_factory=list)


def variants(content: bytes) -> Iterator[bytes]:
    """The model with other base scores: as large, as deep, and none like another."""
    found = BASE_SCORE.search(content)
    if not found or len(BASE_SCORE.findall(content)) != 1:
        raise ClusterError("the model's file does not name its base score once")
    for digit in b"0123456789":
        if digit != found[1][0]:
            yield content[: found.start(1)] + bytes([digit]) + content[found.end(1) :]


def stale(asked: list[Asked], changes: list[Change], begin: float, end: float) -> int:
    """Answers to statements of that time that are of a version before the last one committed."""
    count = 0
    for i, (_, committed, answer) in enumerate(changes):
        until = changes[i + 1][0] if i + 1 < len(changes) else end
        for one in asked:
            inside = one.within(max(committed, begin), min(until, end))
            # A statement that was under way when the next change began may have seen it.
            inside &= one.began + one.took < until
            count += int((inside & (one.answer != answer)).sum())
    return count


class _Deployer:
    def __init__(self, connection: psycopg.Connection) -> None:
        self._connection = connection
        self.log = _Log()
        self._answers: dict[int, float] = {}

    def load(self, content: bytes) -> int:
        began = time.monotonic()
        (version,) = self._connection.execute(LOAD, (MODEL, content)).fetchone()
        self._changed(began, version)
        return version

    def deploy(self, version: int) -> None:
        began = time.monotonic()
        self._connection.execute(DEPLOY, (MODEL, version))
        self._changed(began, version)

    def _changed(self, began: float, version: int) -> None:
        committed = time.monotonic()
        if version not in self._answers:
            query = f"SELECT predict('{MODEL}@{version}', {CONSTANTS})"
            (self._answers[version],) = self._connection.execute(query).fetchone()
        self.log.changes.append((began, committed, self._answers[version]))

    def span(self, name: str, duration: float, act: Callable[[], None]) -> None:
        """Acts again and again for as long, with pauses; at least once."""
        began = time.monotonic()
        while True:
            act()
            time.sleep(PAUSE)
            if time.monotonic() >= began + duration:
                break
        self.log.spans.append((name, began, time.monotonic()))


def _spans(deployer: _Deployer, site: Site, duration: float, repetitions: int) -> None:
    first = deployer.load(site.files[SMALL].read_bytes())
    second = deployer.load(site.files[LARGE].read_bytes())
    versions = [first, second]
    others = itertools.cycle(variants(site.files[LARGE].read_bytes()))

    def switch() -> None:
        versions.reverse()
        deployer.deploy(versions[-1])

    for _ in range(repetitions):
        deployer.span("rest", duration, lambda: None)
        deployer.span("deploy_model", duration, switch)
        deployer.span("load_model", 0, lambda: deployer.load(next(others)))


def deploys(
    site: Site, connections: int, duration: float, repetitions: int
) -> tuple[Subject, Subject]:
    """Seconds of the longest statement that began in a span, by the span; and stale answers."""
    statement = f"SELECT predict('{MODEL}', {CONSTANTS})"
    with site.connect() as connection:
        connection.execute(DROP, (MODEL,))
        deployer = _Deployer(connection)
        deployer.load(site.files[SMALL].read_bytes())
        with asking(site.cluster.conninfo(DATABASE), statement, connections) as asked:
            # The processes need a while to start, and what they do first is no pause.
            time.sleep(duration)
            _spans(deployer, site, duration, repetitions)
        connection.execute(DROP, (MODEL,))
    log = deployer.log
    longest: dict[str, list[float]] = {}
    late: dict[str, list[float]] = {}
    for name, begin, end in log.spans:
        took = [one.took[one.within(begin, end)] for one in asked]
        longest.setdefault(name, []).append(max(float(t.max()) for t in took if len(t)))
        late.setdefault(name, []).append(float(stale(asked, log.changes, begin, end)))
        late.setdefault(f"{name}, statements", []).append(float(sum(map(len, took))))
    for name in ("deploy_model", "load_model"):
        longest[f"{name} itself"] = _longest_changes(log, name)
    return Subject("s", longest), Subject("count", late)


def _longest_changes(log: _Log, name: str) -> list[float]:
    """The longest change itself in each span of that name."""
    return [
        max(committed - began for began, committed, _ in log.changes if begin <= began < end)
        for span, begin, end in log.spans
        if span == name
    ]
