"""Other ways to serve a model, from the records of three retired programs.

These are the ladder, services in other languages, and features that are updated during predictions. The
records name the commit that has the programs. All are of the comparison's machine.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.results import Spread

# The call of a rung that is shown, the most suitable for an application first.
SHOWN = ("raw", "features", "key")
KINDS = {"key": "one prediction", "keys": "a hundred predictions"}
# Next to fresh.json, written by hand: stores, and the faults of their measurements.
WITHDRAWN = "withdrawn.json"
# The share of a rate that counts as sustaining it.
HELD = 0.97


def _read(run: Path, kind: str) -> dict[str, Any]:
    return json.loads((run / f"{kind}.json").read_text())


def _name(run: Path) -> str:
    return f"{run.parent.name}/{run.name}"


def _spread(runs: list[dict[str, float]], figure: str, scale: float = 1.0) -> Spread:
    return Spread.of([one[figure] * scale for one in runs])


def ladder(run: Path) -> dict[str, Any]:
    """Returns the rungs with their time in µs for one row of the Titanic, the fastest first."""
    found = _read(run, "ladder")
    cells, rungs = found["sets"]["titanic"]["cells"], []
    for name, rung in found["rungs"].items():
        verb = next(verb for verb in SHOWN if verb in rung["verbs"])
        if runs := cells.get(f"{name}/{verb}"):
            rungs.append((rung, verb, _spread(runs, "mean", 1e-3)))
    compared = sum(sum(one["compared"].values()) for one in found["sets"].values())
    order = sorted(rungs, key=lambda one: one[2].median)
    return {"run": found, "name": _name(run), "rungs": order, "compared": compared}


def serving(run: Path) -> dict[str, Any]:
    """Returns the services by kind of request, in descending order of throughput."""
    found = _read(run, "serving")
    kinds: dict[str, list[tuple[Any, ...]]] = {}
    for verb, kind in KINDS.items():
        asked = {name: found["cells"].get(f"{name}/{verb}") for name in found["services"]}
        known = [
            (
                found["services"][name],
                _spread(runs, "rate"),
                _spread(runs, "p99"),
                _spread(runs, "mb"),
            )
            for name, runs in asked.items()
            if runs
        ]
        kinds[kind] = sorted(known, key=lambda one: -one[1].median)
    return {"run": found, "name": _name(run), "kinds": kinds}


@dataclass(frozen=True)
class Fresh:
    """The tail latency of predictions while features are updated."""

    run: Mapping[str, Any]
    name: str
    withdrawn: Mapping[str, str]

    def one(self, store: str, live: int, updates: int) -> Mapping[str, Any] | None:
        """Returns a store's run with those numbers of live rows and updates."""
        asked = {"store": store, "live": live, "updates": updates}
        return next((one for one in self.run["runs"] if asked.items() <= one.items()), None)

    @property
    def shown(self) -> Iterator[tuple[str, Mapping[str, Any], bool]]:
        """Yields each run's store and whether it sustained both rates, ordered by live rows and updates."""
        order = sorted(self.run["runs"], key=lambda one: (one["live"], one["updates"]))
        for one in order:
            wanted = ((one["rate"], self.run["load"]["rate"]), (one["updated"], one["updates"]))
            held = all(got >= HELD * rate for got, rate in wanted)
            yield self.run["stores"][one["store"]], one, held


def fresh(run: Path) -> Fresh:
    """Reads a run's directory, without withdrawn stores."""
    found = _read(run, "fresh")
    path = run / WITHDRAWN
    withdrawn = json.loads(path.read_text()) if path.exists() else {}
    found["runs"] = [one for one in found["runs"] if one["store"] not in withdrawn]
    said = {found["stores"][store]: why for store, why in withdrawn.items()}
    return Fresh(found, _name(run), said)
