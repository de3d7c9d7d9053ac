"""The tail of predictions while features are replaced, from the fresh.json of `make bench-fresh`."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FILE = "fresh.json"
# Beside it, written by hand: stores, and what was wrong with them.
WITHDRAWN = "withdrawn.json"


@dataclass(frozen=True)
class Fresh:
    """A run, asked for figures."""

    run: Mapping[str, Any]

    def one(self, store: str, live: int, updates: int) -> Mapping[str, Any] | None:
        """A store's run with so many rows and updates."""
        asked = {"store": store, "live": live, "updates": updates}
        runs = self.run["runs"]
        return next((one for one in runs if asked.items() <= one.items()), None)

    @property
    def lives(self) -> list[int]:
        """How many rows were held."""
        return sorted({one["live"] for one in self.run["runs"]})

    @property
    def updates(self) -> list[int]:
        """How many updates a second were sent."""
        return sorted({one["updates"] for one in self.run["runs"]})

    @property
    def seconds(self) -> list[int]:
        """How long runs were."""
        return sorted({one["seconds"] for one in self.run["runs"]})

    @property
    def pictured(self) -> tuple[int, int]:
        """The most updates, and the rows that most stores held meanwhile."""
        most = self.updates[-1]
        held = [one["live"] for one in self.run["runs"] if one["updates"] == most]
        return max(self.lives, key=lambda live: (held.count(live), live)), most

    def shown(self, live: int) -> Iterator[tuple[str, int, Mapping[str, Any]]]:
        """Stores by their labels, with each rate of updates."""
        for name, label in self.run["stores"].items():
            for updates in self.updates:
                if one := self.one(name, live, updates):
                    yield label, updates, one

    def held(self, one: Mapping[str, Any]) -> bool:
        """Whether both rates were held."""
        wanted = ((one["rate"], self.run["load"]["rate"]), (one["updated"], one["updates"]))
        return all(got >= 0.97 * rate for got, rate in wanted)


def read(run: Path) -> Fresh:
    """What a run's directory has, without stores that proved to be measured wrongly later."""
    found = json.loads((run / FILE).read_text())
    path = run / WITHDRAWN
    withdrawn = json.loads(path.read_text()) if path.exists() else {}
    found["runs"] = [one for one in found["runs"] if one["store"] not in withdrawn]
    found["withdrawn"] = {found["stores"].pop(store): why for store, why in withdrawn.items()}
    return Fresh(found)


def given(run: Path) -> dict[str, Any]:
    """What the page's template shows of a run's directory."""
    found = read(run)
    return {"found": found, "run": found.run}
