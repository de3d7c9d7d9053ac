"""The sweep of the tuned service's workers and threads: what was tried, and which pair was taken."""

from dataclasses import dataclass
from typing import Any

from bench.report.figures import ranged, whole
from bench.report.markdown import table
from bench.results import Spread


@dataclass(frozen=True)
class Sweep:
    """One sweep; the spreads are in the order of `clients`."""

    clients: list[int]
    tried: dict[tuple[int, int], list[Spread]]
    best: tuple[int, int]

    @classmethod
    def of(cls, value: Any) -> "Sweep":
        """What sweep.json says."""
        tried = {
            (one["workers"], one["threads"]): [
                Spread(**spread) for spread in one["requests_per_second"]
            ]
            for one in value["tried"]
        }
        return cls(value["clients"], tried, (value["best"]["workers"], value["best"]["threads"]))

    def table(self) -> str:
        """Each pair's requests a second; the one taken is bold."""
        rows = []
        for pair, spreads in sorted(self.tried.items()):
            mark = "**" if pair == self.best else ""
            figures = [f"{mark}{ranged(spread, whole)}{mark}" for spread in spreads]
            rows.append((*(f"{mark}{number}{mark}" for number in pair), *figures))
        header = ("workers", "threads", *(f"{clients} clients" for clients in self.clients))
        return table(header, rows, text_columns=0)
