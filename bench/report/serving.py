"""Services of one model, from the serving.json of one run of `make bench-serving`."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.results import Spread

FILE = "serving.json"
KINDS = {"key": "one prediction", "keys": "a hundred predictions", "top": "the ten best of 1,682"}
# Whose figures belong together: as many are better, or fewer.
FEWER = ("p50", "p95", "p99", "mb", "us", "mean")


@dataclass(frozen=True)
class Serving:
    """A run, asked for figures."""

    run: Mapping[str, Any]

    def values(self, service: str, verb: str, figure: str) -> list[float]:
        """Of every repetition; requests per second per MB are `rate/mb`."""
        runs = self.run["cells"].get(f"{service}/{verb}", [])
        if figure == "rate/mb":
            return [one["rate"] / one["mb"] for one in runs]
        return [one[figure] for one in runs if figure in one]

    def spread(self, service: str, verb: str, figure: str) -> Spread | None:
        """Over the repetitions."""
        found = self.values(service, verb, figure)
        return Spread.of(found) if found else None

    def shown(self, verb: str) -> list[tuple[str, Mapping[str, Any]]]:
        """Services, the one that answers most first."""
        known = [one for one in self.run["services"].items() if self.values(one[0], verb, "rate")]
        return sorted(known, key=lambda one: -self.spread(one[0], verb, "rate").median)

    def times(self, above: str, below: str, verb: str, figure: str) -> Spread | None:
        """How many times better the first is; None where one of them was not asked."""
        if figure in FEWER:
            above, below = below, above
        first, second = (self.values(one, verb, figure) for one in (above, below))
        found = [a / b for a, b in zip(first, second, strict=False)]
        return Spread.of(found) if found else None


def read(run: Path) -> Serving:
    """What a run's directory has."""
    return Serving(json.loads((run / FILE).read_text()))


def given(run: Path) -> dict[str, Any]:
    """What the page's template shows of a run's directory."""
    found = read(run)
    return {"found": found, "run": found.run, "KINDS": KINDS}
