"""What other documents claim, beside what the committed results say of it.

claims.toml has the claims; a claim names a function below that finds its figure in the results. Where the
results lack what it asks for, the claim was not run. It holds where the median reaches the claim's figure, is
weaker where the whole range is on the claim's side of `none`, and else does not hold; a range that holds the
claim's figure is said to be within noise.
"""

import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.report import distance, ladder
from bench.report.entries import PYTHON, Entry, entry
from bench.report.files import Sources, newest
from bench.report.inside import Found
from bench.report.measured import Asked, Lacking, Measured, requests_per_second
from bench.report.preparing import trainings
from bench.results import CellResult, Spread
from speed import record

CLAIMS = Path(__file__).with_name("claims.toml")
HOLDS, WEAKER, NOT, NOT_RUN = "holds", "weaker", "does not hold", "not run"


@dataclass(frozen=True)
class Claim:
    """One of them, as claims.toml describes it."""

    says: str
    figure: str
    found: Sequence[Any] = ()
    least: float | None = None
    most: float | None = None
    none: float = 1.0
    shown: str = "times"
    note: str = ""


@dataclass(frozen=True)
class Judged:
    """A claim and what was measured of it; None: nothing."""

    claim: Claim
    ours: Spread | None

    @property
    def verdict(self) -> str:
        """One of the four."""
        if self.ours is None:
            return NOT_RUN
        claim, sign = self.claim, 1 if self.claim.most is None else -1
        if sign * self.ours.median >= sign * self.bound:
            return HOLDS
        worst = self.ours.smallest if sign > 0 else self.ours.largest
        return WEAKER if sign * worst > sign * claim.none else NOT

    @property
    def bound(self) -> float:
        """Where the claim begins to hold."""
        return self.claim.least if self.claim.most is None else self.claim.most

    @property
    def noisy(self) -> bool:
        """Whether the range holds the claim's own figure."""
        return bool(self.ours) and self.ours.smallest < self.bound <= self.ours.largest


def _cell(sources: Sources, name: str) -> tuple[Measured, CellResult]:
    """The cell of that name on one machine, else on three hosts."""
    try:
        return sources.local, sources.local.named(name)
    except Lacking:
        if sources.split is None:
            raise
        return sources.split, sources.split.named(name)


def _entry(name: str) -> Entry:
    return entry(*name.split("/"))


def times(sources: Sources, above: str, below: str, figure: str = "rate") -> Spread:
    """How many times better the first cell is by a figure."""
    measured, cell = _cell(sources, above)
    return measured.better(cell, _cell(sources, below)[1], figure)


def against_best_service(sources: Sources, above: str, delay_ms: float) -> Spread:
    """Throughput with that delay against the service's best entry."""
    measured, cell = _cell(sources, f"{above}/{delay_ms:g}ms")
    asked = Asked(delay_ms=delay_ms)
    cells = [measured.cell(one, asked) for one in measured.entries if one.side == PYTHON]
    best = max(filter(None, cells), key=lambda one: one.requests_per_second.median)
    return measured.ratio(cell, best, requests_per_second)


def round_trips(sources: Sources, above: str, below: str) -> Spread:
    """The ratio of the round trips that two entries wait for."""
    grown = {one.entry: one for one in distance.growth(sources.split)} if sources.split else {}
    try:
        found = grown[_entry(above)].round_trips / grown[_entry(below)].round_trips
    except KeyError as error:
        raise Lacking("no growth with the distance") from error
    return Spread(found, found, found)


def of_best(sources: Sources, beginning: str, per_core: int) -> Spread:
    """What so many clients per core reach of the best throughput with any number of clients."""
    local = sources.local
    cells = [
        cell
        for cell in local.result.cells
        if cell.runs and cell.rate is None and cell.name.startswith(f"{beginning}/")
    ]
    if not cells:
        raise Lacking(beginning)
    wanted = per_core * int(local.result.machine["cores"])
    near = min(cells, key=lambda cell: abs(cell.clients - wanted))
    best = max(cells, key=lambda cell: cell.requests_per_second.median)
    return local.ratio(near, best, requests_per_second)


def step(sources: Sources, name: str, request: str) -> Spread:
    """What a step takes of an entry's processor time for a request."""
    steps = ladder.steps(sources.local, _entry(name))
    if request not in steps:
        raise Lacking(f"{name} has no step {request}")
    together = [sum(values) for values in zip(*steps.values(), strict=True)]
    return Spread.of([a / b for a, b in zip(steps[request], together, strict=True)])


def all_but(sources: Sources, name: str, request: str) -> Spread:
    """What all other steps take."""
    taken = step(sources, name, request)
    return Spread(1 - taken.median, 1 - taken.largest, 1 - taken.smallest)


def memory_of_part(sources: Sources, part: str, name: str) -> Spread:
    """What a part of the server takes of its memory."""
    _, cell = _cell(sources, name)
    return Spread.of([run.server_parts[part].pss_bytes / run.server.pss_bytes for run in cell.runs])


def serving_memory(sources: Sources, name: str) -> Spread:
    """The service's own processes against the private memory of as many connections as it has clients."""
    run = newest(sources.directory, record.FILE)
    _, cell = _cell(sources, name)
    if run is None:
        raise Lacking(record.FILE)
    private = Found(record.parse((run / record.FILE).read_text())).spread(
        "copies", f"private/{record.LARGE}"
    )
    if private is None:
        raise Lacking("copies")
    own = Spread.of([run.server_parts["gunicorn"].pss_bytes / cell.clients for run in cell.runs])
    return Spread(
        own.median / private.median, own.smallest / private.largest, own.largest / private.smallest
    )


def trained(sources: Sources, above: str, below: str) -> Spread:
    """How many times the memory one way to train takes."""
    found = {one.what: one.megabytes for one in trainings(sources.local)}
    if not {above, below} <= found.keys():
        raise Lacking(f"{above}, {below}")
    over, under = found[above], found[below]
    return Spread(
        over.median / under.median, over.smallest / under.largest, over.largest / under.smallest
    )


def loaded(sources: Sources, above: str, beginning: str) -> Spread:
    """How many times faster the first way loads as many rows; the slowest of those that begin so."""
    own = [one for one in sources.local.result.loading if one.what == above]
    other = [one for one in sources.local.result.loading if one.what.startswith(beginning)]
    found = [b.seconds / a.seconds for a in own for b in other if a.rows == b.rows]
    if not found:
        raise Lacking(above)
    return Spread(max(found), min(found), max(found))


def answers(sources: Sources) -> Spread:
    """How many were compared."""
    count = sum(sum(one.compared.values()) for one in sources.local.result.checked)
    return Spread(count, count, count)


def _profiles(sources: Sources) -> dict[str, Any]:
    found = sources.other("pgo")
    if found is None:
        raise Lacking("pgo.json")
    return found


def profiled(sources: Sources, query: str, figure: str) -> Spread:
    """The change of a figure by a build with a profile, within each round."""
    for cell in _profiles(sources)["cells"]:
        if cell["name"] == query:
            pairs = zip(cell["runs"]["optimised"], cell["runs"]["plain"], strict=True)
            flat = [
                ({"throughput": r["throughput"]} | r["latency_ms"])[figure]
                for pair in pairs
                for r in pair
            ]
            return Spread.of([a / b - 1 for a, b in zip(flat[::2], flat[1::2], strict=True)])
    raise Lacking(query)


def profiled_rows(sources: Sources) -> Spread:
    """How many predictions of the two builds were compared."""
    rows = _profiles(sources)["plan"]["rows"]
    return Spread(rows, rows, rows)


FUNCTIONS: dict[str, Callable[..., Spread]] = {
    one.__name__: one
    for one in (
        times, against_best_service, round_trips, of_best, step, all_but, memory_of_part, serving_memory,
        trained, loaded, answers, profiled, profiled_rows,
    )
}  # fmt: skip


def _ours(sources: Sources, claim: Claim) -> Spread | None:
    if not claim.found:
        return None
    name, *given = claim.found
    try:
        return FUNCTIONS[name](sources, *given)
    except Lacking:
        return None


def judged(sources: Sources, path: Path = CLAIMS) -> list[dict[str, Any]]:
    """The documents, each with its claims judged."""
    documents = tomllib.loads(path.read_text())["document"]
    for document in documents:
        claims = [Claim(**given) for given in document.pop("claim")]
        document["claims"] = [Judged(one, _ours(sources, one)) for one in claims]
    return documents
