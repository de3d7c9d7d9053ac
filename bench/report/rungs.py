"""The ladder: what a prediction takes by each rung, from the ladder.json of one run of `make bench-ladder`.

Nanoseconds of one client for a row. Medians over the repetitions; steps are differences of verbs within a
repetition, since all verbs were asked in turn.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.results import Spread

FILE = "ladder.json"
# What of a rung is shown: how the application would ask, best first.
SHOWN = ("raw", "features", "key")
# Steps, each the difference of two verbs.
STEPS: Mapping[str, tuple[str, str | None]] = {
    "there and back": ("ping", None),
    "reading the row": ("echo", "ping"),
    "preprocessing": ("raw", "features"),
    "predicting": ("features", "echo"),
}


@dataclass(frozen=True)
class Ladder:
    """A run, asked for figures."""

    run: Mapping[str, Any]

    @property
    def sets(self) -> Mapping[str, Any]:
        """The data sets by name."""
        return self.run["sets"]

    def values(self, of: str, rung: str, verb: str, figure: str = "mean") -> list[float]:
        """Nanoseconds in each repetition; none where it was not asked."""
        runs = self.sets[of]["cells"].get(f"{rung}/{verb}", []) if of in self.sets else []
        return [one[figure] for one in runs if figure in one]

    def spread(self, of: str, rung: str, verb: str, figure: str = "mean") -> Spread | None:
        """Over the repetitions, in µs."""
        found = [ns / 1e3 for ns in self.values(of, rung, verb, figure)]
        return Spread.of(found) if found else None

    def verb(self, rung: str) -> str:
        """The one that is shown of a rung."""
        return next(verb for verb in SHOWN if verb in self.run["rungs"][rung]["verbs"])

    def shown(self, of: str = "titanic") -> list[tuple[str, Mapping[str, Any], Spread]]:
        """The rungs with what a prediction takes, the fastest first."""
        found = [
            (name, rung, spread)
            for name, rung in self.run["rungs"].items()
            if (spread := self.spread(of, name, self.verb(name)))
        ]
        return sorted(found, key=lambda one: one[2].median)

    def fastest(self, server: bool) -> tuple[Mapping[str, Any], Spread] | None:
        """The fastest rung that asks a server for one row at a time, or that asks none."""
        for _, rung, spread in self.shown():
            asks = bool(rung["command"] or rung["postgres"])
            alone = rung["block"] == 1 or not asks
            if asks == server and alone and not rung["control"]:
                return rung, spread
        return None

    def steps(self, rung: str, of: str = "titanic") -> dict[str, Spread | None]:
        """µs of each step; None where a verb is missing."""
        found: dict[str, Spread | None] = {}
        for name, (verb, before) in STEPS.items():
            first = self.values(of, rung, verb)
            second = self.values(of, rung, before) if before else [0.0] * len(first)
            pairs = [(a - b) / 1e3 for a, b in zip(first, second, strict=False)]
            found[name] = Spread.of(pairs) if pairs else None
        return found

    @property
    def answers(self) -> int:
        """How many were compared before anything was timed."""
        return sum(sum(one["compared"].values()) for one in self.sets.values())


def read(run: Path) -> Ladder:
    """What a run's directory has."""
    return Ladder(json.loads((run / FILE).read_text()))


def given(run: Path) -> dict[str, Any]:
    """What the page's template shows of a run's directory."""
    found = read(run)
    checks = [
        (one, *(Spread.of(one["latency_ms"][by]) for by in ("caller", "other")))
        for one in found.sets["titanic"]["crosscheck"]
    ]
    return {"found": found, "run": found.run, "STEPS": STEPS, "checks": checks}
