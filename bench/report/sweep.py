"""The sweep of the tuned service's workers and threads: what was tried, and which pair was taken."""

from dataclasses import dataclass
from typing import Any

from bench.report.figures import ranged, whole
from bench.report.markdown import table
from bench.results import Spread


@dataclass(frozen=True)
class Tried:
    """One pair: how often it was measured, and its requests a second, a spread for each number of clients."""

    workers: int
    threads: int
    runs: int
    requests_per_second: list[Spread]


@dataclass(frozen=True)
class Sweep:
    """One sweep; spreads are in the order of `clients`."""

    clients: list[int]
    tried: list[Tried]
    best: tuple[int, int]

    @classmethod
    def of(cls, value: Any) -> "Sweep":
        """What sweep.json says."""
        tried = [
            Tried(
                one["workers"], one["threads"], len(one["runs"]),
                [Spread(**spread) for spread in one["requests_per_second"]],
            )
            for one in value["tried"]
        ]  # fmt: skip
        return cls(value["clients"], tried, (value["best"]["workers"], value["best"]["threads"]))

    @property
    def taken(self) -> str:
        """The pair, in words."""
        return f"{self.best[0]} workers of {self.best[1]} threads"

    def table(self) -> str:
        """Each pair's requests a second, those measured most often first; the one taken is bold."""
        rows = []
        for one in sorted(self.tried, key=lambda one: (-one.runs, one.workers, one.threads)):
            mark = "**" if (one.workers, one.threads) == self.best else ""
            figures = [ranged(spread, whole) for spread in one.requests_per_second]
            numbers = map(str, (one.workers, one.threads, one.runs))
            rows.append([f"{mark}{text}{mark}" for text in (*numbers, *figures)])
        header = ("workers", "threads", "runs", *(f"{clients} clients" for clients in self.clients))
        return table(header, rows, text_columns=0)
