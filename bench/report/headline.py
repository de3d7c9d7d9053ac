"""The comparison in short: how PostgreSQL does against each rival, in a sentence and in a table of cases.

README.md, the results page and index.html print the sentence of `answer`, so their ratios cannot differ. A
ratio is printed with its range, and with no more digits than that supports. A range that includes 1 is a tie.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from bench.report.measured import (
    CLIENTS,
    PREPARED,
    SIMPLE,
    Entry,
    Measured,
    RequestSpec,
    better,
    entry,
)
from bench.results import Spread

# The number of measurements that a verdict needs.
ENOUGH = 4
SLOWER, TIE, FASTER = "slower", "tie", "faster"
EXTENDED = entry("postgres_direct", "extended")
POOLED = entry("postgres_pgbouncer", "simple")
POOLED_PREPARED = entry("postgres_pgbouncer", "prepared")
SAID = {
    SLOWER: "slower than", TIE: "level with", FASTER: "faster than",
    "": "measured too seldom for a verdict against",
}  # fmt: skip
# The rivals' names in a sentence.
SPOKEN = {
    "FastAPI": "a FastAPI service",
    "best Python, Redis": "the best Python service with Redis",
    "best Python, memory": "the best Python service with features in memory",
    "Rust, Redis": "a Rust service with Redis",
    "Rust, memory": "a Rust service with features in memory",
}
# The same request with one key: what was measured with it before keys were drawn.
SAME_KEY = {"random": "hot"}


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


def written(spread: Spread | None) -> str:
    """Formats a ratio with its range, whether it is a tie, and the number of runs where these are few."""
    if spread is None:
        return "-"
    middle, low, high = map(digits, (spread.median, spread.smallest, spread.largest))
    few = f", {spread.count} run{'s' * (spread.count > 1)}" if spread.count < ENOUGH else ""
    tie = ", tie" if verdict(spread) == TIE else ""
    return f"{middle} ({low} to {high}){tie}{few}" if spread.count > 1 else f"{middle}{few}"


def rivals(measured: Measured, asked: RequestSpec) -> dict[str, Entry]:
    """Returns the rivals that were measured with a request, by the names of pages.

    A Python service stands for the best only where the best one of the main request was measured, too.
    """
    found: dict[str, Entry | None] = {}
    typical = (entry(name, "http") for name in ("fastapi_plain", "fastapi"))
    found["FastAPI"] = next((one for one in typical if measured.cell(one, asked)), None)
    for memory, where in ((False, "Redis"), (True, "memory")):
        best, here = measured.rival(RequestSpec(), memory), measured.rival(asked, memory)
        known = here if best is None or measured.cell(best, asked) else None
        found[f"best Python, {where}"] = known
    found["Rust, Redis"] = entry("axum_redis", "http")
    found["Rust, memory"] = entry("axum", "http")
    return {name: one for name, one in found.items() if one and measured.cell(one, asked)}


def ratios(measured: Measured, own: Entry, asked: RequestSpec) -> dict[str, Spread]:
    """Returns how many times as many requests PostgreSQL answers as each rival."""
    cell = measured.cell(own, asked)
    if cell is None:
        return {}
    them = rivals(measured, asked)
    return {name: better(cell, measured.cell(one, asked), "rate") for name, one in them.items()}


def _listed(parts: list[str]) -> str:
    return " and ".join([*([", ".join(parts[:-1])] if parts[1:] else []), *parts[-1:]])


def _half(measured: Measured, own: Entry) -> str:
    """Returns the part of the sentence about one protocol, the worst rival first."""
    found = sorted(ratios(measured, own, RequestSpec()).items(), key=lambda one: one[1].median)
    parts = []
    for known, said in SAID.items():
        texts = [
            f"{SPOKEN[name]} ({digits(one.median)}, {digits(one.smallest)} to {digits(one.largest)})"
            for name, one in found
            if verdict(one) == known
        ]
        parts += [f"{said} {_listed(texts)}"] if texts else []
    return ", ".join(parts)


def answer(measured: Measured) -> str:
    """Returns the sentence about the main request, for each protocol what PostgreSQL loses first."""
    simple, prepared = _half(measured, SIMPLE), _half(measured, PREPARED)
    return (
        f"With {CLIENTS} clients and a drawn key in each request, PostgreSQL is {simple}. "
        f"With prepared statements it is {prepared}. "
        "In brackets: how many times as many requests per second, and the range."
    )


@dataclass(frozen=True)
class Case:
    """A line of the table: what an application sends, and the ratios to the rivals."""

    text: str
    own: Entry
    asked: RequestSpec
    rate: Spread
    ratios: dict[str, Spread]


# What an application sends, by which protocol, and with how many clients.
_CASES: tuple[tuple[str, Entry, str, tuple[int, ...]], ...] = (
    ("one prediction, prepared", PREPARED, "random", (1, 20, 100)),
    ("one prediction, simple query", SIMPLE, "random", (1, 20, 100, 1_000)),
    ("one prediction, unnamed statement", EXTENDED, "random", (20,)),
    ("one prediction, PgBouncer, prepared", POOLED_PREPARED, "random", (100,)),
    ("one prediction, PgBouncer, simple query", POOLED, "random", (100, 1_000)),
    ("a hundred keys, prepared", PREPARED, "batch", (5,)),
    ("a hundred keys, simple query", SIMPLE, "batch", (5,)),
    ("best ten of 10 candidates", PREPARED, "rank_10", (1, 20)),
    ("best ten of 100 candidates", PREPARED, "rank_100", (1, 20)),
    ("best ten of 1,000 candidates", PREPARED, "rank_1000", (1, 20)),
    ("best ten of 100 ids that come along", PREPARED, "rank_ids", (1, 20)),
    ("features that come along", PREPARED, "given", (20,)),
    ("features written in the same request", PREPARED, "fresh", (20,)),
    ("fifty models, one by tenant", PREPARED, "tenants", (20,)),
)


def cases(measured: Measured) -> Iterator[Case]:
    """Yields the cases that were measured, with one key in every request where keys were not drawn."""
    for text, own, request, several in _CASES:
        for clients in several:
            asked = RequestSpec(request, clients)
            note = ""
            if not measured.cell(own, asked) and request in SAME_KEY:
                asked, note = replace(asked, request=SAME_KEY[request]), ", one key"
            if rate := measured.spread(own, asked, "rate"):
                who = f"{clients:,} client{'s' * (clients > 1)}"
                yield Case(f"{text}, {who}{note}", own, asked, rate, ratios(measured, own, asked))


def losses(measured: Measured) -> list[tuple[str, str, Spread]]:
    """Returns case, rival and ratio where PostgreSQL is slower than a rival with Redis, the worst first."""
    found = [
        (case.text, name, spread)
        for case in cases(measured)
        for name, spread in case.ratios.items()
        if name.endswith("Redis") and verdict(spread) == SLOWER
    ]
    return sorted(found, key=lambda one: one[2].median)
