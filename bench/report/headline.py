"""The comparison in short: how PostgreSQL does against each rival, in a sentence and in a table of cases.

README.md, the results page and index.html print the sentence of `answer`, so their ratios cannot differ. A
ratio is printed with its range, and with few digits. A range that includes 1 is a tie.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from bench.report import measured as reader
from bench.report.measured import CLIENTS, PREPARED, SIMPLE, TREES, Entry, Measured, RequestSpec
from bench.results import Spread

# The number of measurements that a verdict needs.
ENOUGH = 4
SLOWER, TIE, FASTER = "slower", "tie", "faster"
EXTENDED = reader.entry("postgres_direct", "extended")
POOLED_PREPARED = reader.entry("postgres_pgbouncer", "prepared")
DASH = "\N{EN DASH}"
# The rivals of the sentence.
SPOKEN = {
    "FastAPI": "a FastAPI service",
    "best Python, Redis": "the best Python service",
    "Rust, Redis": "a Rust service with Redis",
    "Rust, memory": "a Rust service that has all features in memory",
}


def digits(value: float) -> str:
    """Formats a ratio with two digits, around 1 with three."""
    return f"{value:,.0f}" if value >= 9.95 else f"{value:.{1 if value >= 1.05 else 2}f}"


def verdict(spread: Spread) -> str:
    """Returns whether the first side is slower, faster, or neither; empty with too few measurements."""
    if spread.count < ENOUGH:
        return ""
    if spread.smallest <= 1 <= spread.largest:
        return TIE
    return SLOWER if spread.median < 1 else FASTER


def ranged(spread: Spread) -> str:
    """Formats a ratio with its range."""
    middle, low, high = map(digits, (spread.median, spread.smallest, spread.largest))
    return f"{middle} ({low}{DASH}{high})" if spread.count > 1 else middle


def written(spread: Spread | None) -> str:
    """Formats a ratio with its range, and whether it is a tie."""
    if spread is None:
        return "-"
    return ranged(spread) + (", tie" if verdict(spread) == TIE else "")


def rivals(measured: Measured, asked: RequestSpec) -> dict[str, Entry]:
    """Returns the rivals that were measured with a request, by the names of pages.

    A Python service stands for the best only where the best one of the main request was measured, too.
    """
    found: dict[str, Entry | None] = {"FastAPI": reader.entry("fastapi_plain", "http")}
    for memory, where in ((False, "Redis"), (True, "memory")):
        best, here = measured.rival(RequestSpec(), memory), measured.rival(asked, memory)
        known = here if best is None or measured.cell(best, asked) else None
        found[f"best Python, {where}"] = known
    found["Rust, Redis"] = reader.entry("axum_redis", "http")
    found["Rust, memory"] = reader.entry("axum", "http")
    return {name: one for name, one in found.items() if one and measured.cell(one, asked)}


def ratios(measured: Measured, own: Entry, asked: RequestSpec) -> dict[str, Spread]:
    """Returns how many times as many requests PostgreSQL answers as each rival."""
    if (cell := measured.cell(own, asked)) is None:
        return {}
    them = {name: measured.cell(one, asked) for name, one in rivals(measured, asked).items()}
    return {name: reader.better(cell, theirs, "rate") for name, theirs in them.items()}


def _listed(parts: list[str]) -> str:
    return " and ".join([*([", ".join(parts[:-1])] if parts[1:] else []), *parts[-1:]])


def answer(measured: Measured) -> str:
    """Returns the sentence about the main request, by prepared statements and by simple queries."""
    prepared, simple = (ratios(measured, own, RequestSpec()) for own in (PREPARED, SIMPLE))
    named = [name for name in SPOKEN if name in prepared]
    times = [f"{ranged(prepared[name])} times the rate of {SPOKEN[name]}" for name in named]
    others = [ranged(simple[name]) for name in named]
    return (
        f"With {CLIENTS} clients and prepared statements, PostgreSQL answers one prediction per request at "
        f"{_listed(times)}; with simple queries at {_listed(others)} times. "
        "In brackets: the range of the runs."
    )


@dataclass(frozen=True)
class Case:
    """A line of the table: what an application sends, and the ratios to the rivals."""

    text: str
    own: Entry
    asked: RequestSpec
    rate: Spread
    ratios: dict[str, Spread]

    @property
    def runs(self) -> int:
        """The number of runs that each ratio has."""
        return min(one.count for one in (self.rate, *self.ratios.values()))


# What an application sends, by which protocol, with how many clients, and to a model of how many trees.
_CASES: tuple[tuple[str, Entry, str, tuple[int, ...], int], ...] = (
    ("one prediction, prepared", PREPARED, "random", (20, 100), TREES),
    ("one prediction, simple query", SIMPLE, "random", (20, 100), TREES),
    ("one prediction, unnamed statement", EXTENDED, "random", (20,), TREES),
    ("prepared through PgBouncer", POOLED_PREPARED, "random", (100,), TREES),
    ("100 keys", PREPARED, "batch", (5,), TREES),
    ("best ten of 100 candidates", PREPARED, "rank_100", (20,), TREES),
    ("best ten of 100 candidates, 200 trees", PREPARED, "rank_100", (20,), 200),
    ("best ten of 1,000 candidates", PREPARED, "rank_1000", (20,), TREES),
    ("best ten of 100 ids sent", PREPARED, "rank_ids", (20,), TREES),
    ("features sent", PREPARED, "given", (20,), TREES),
    ("features written, then ranked", PREPARED, "fresh", (20,), TREES),
    ("fifty models, by tenant", PREPARED, "tenants", (20,), TREES),
)


def cases(measured: Measured) -> Iterator[Case]:
    """Yields the cases that were measured."""
    for text, own, request, several, trees in _CASES:
        for asked in (RequestSpec(request, clients, trees) for clients in several):
            if rate := measured.spread(own, asked, "rate"):
                yield Case(text, own, asked, rate, ratios(measured, own, asked))


def losses(measured: Measured) -> list[tuple[Case, str, Spread]]:
    """Returns case, rival and ratio where PostgreSQL is slower than a rival, the worst first.

    Of the cases that differ by the number of clients alone, and of a case's rivals, it returns the worst.
    """
    every = ((case, *known) for case in cases(measured) for known in case.ratios.items())
    found = [one for one in every if verdict(one[2]) == SLOWER]
    worst: dict[str, tuple[Case, str, Spread]] = {}
    for one in sorted(found, key=lambda one: one[2].median):
        worst.setdefault(one[0].text, one)
    return [*worst.values()]
