"""What predictions cost inside the database: the figures of one `make speed`, from its inside.json.

Medians with ranges; ratios and differences are taken within each repetition. A subject or a series that was
not measured gives none. Of fresh connections, of which there are hundreds, the range is of the middle half.
"""

import itertools
import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.inside import series as names
from bench.inside.series import CLIENTS, PROTOCOLS
from bench.results import Spread
from tools.workbench import queries

FORMS = (*queries.FORMS,)
COLUMNS = FORMS[0]


def _spread(values: Sequence[float]) -> Spread | None:
    """Of no value, none."""
    return Spread.of([*values]) if values else None


def _middle(values: Sequence[float]) -> Spread | None:
    """The median and the middle half."""
    if len(values) < 2:
        return _spread(values)
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return Spread(median, low, high)


@dataclass(frozen=True)
class Found:
    """A run, asked for figures."""

    run: Mapping[str, Any]

    def has(self, subject: str) -> bool:
        """Whether it was measured."""
        return subject in self.run["subjects"]

    def values(self, subject: str, series: str, scale: float = 1.0) -> list[float]:
        """Of every repetition, times a factor; none if it was not measured."""
        found = self.run["subjects"].get(subject, {}).get("series", {})
        return [value * scale for value in found.get(series, [])]

    def more(self, subject: str, series: str, than: str, scale: float = 1.0) -> list[float]:
        """How much more than the other series, each time."""
        pairs = zip(self.values(subject, series), self.values(subject, than), strict=True)
        return [(a - b) * scale for a, b in pairs]

    def difference(self, subject: str, series: str, than: str, scale: float) -> Spread | None:
        """How much more than the other series, times a factor."""
        return _spread(self.more(subject, series, than, scale))

    def spread(self, subject: str, series: str, scale: float = 1.0) -> Spread | None:
        """Median and range, times a factor."""
        return _spread(self.values(subject, series, scale))

    def ms(self, subject: str, series: str) -> Spread | None:
        """Of seconds, in milliseconds."""
        return self.spread(subject, series, 1e3)

    def ns(self, subject: str, series: str) -> Spread | None:
        """Of seconds for all rows, in nanoseconds for one."""
        return self.spread(subject, series, 1e9 / self.run["workload"]["rows"])

    def middle_ms(self, subject: str, series: str) -> Spread | None:
        """The middle half, in milliseconds."""
        return _middle(self.values(subject, series, 1e3))

    def above(self, subject: str, series: str, than: str, scale: float = 1e3) -> Spread | None:
        """The middle half of how much more, of seconds in milliseconds."""
        return _middle(self.more(subject, series, than, scale))

    def ratio(self, subject: str, above: str, below: str, scale: float = 1.0) -> Spread | None:
        """How many times the other series, times a factor."""
        pairs = zip(self.values(subject, above, scale), self.values(subject, below), strict=True)
        return _spread([a / b for a, b in pairs])

    def added_to_scan(self, label: str) -> Spread | None:
        """What predict adds to the plain scan, as a part of XGBoost's own batch."""
        more = self.more("scan", f"{label}/columns/on", "plain")
        batches = self.values("scan", f"xgboost/{label}")
        return _spread([a / b for a, b in zip(more, batches, strict=True)])

    def one_row_series(self, protocol: str, clients: int, form: str = COLUMNS) -> list[str]:
        """The names of the one-row query's series, with predict and without."""
        names = ("predict", "control") if form == COLUMNS else (form, f"{form} control")
        return [f"{protocol}/{clients}/{name}" for name in names]

    def one_row(self, protocol: str, clients: int, form: str = COLUMNS) -> Spread | None:
        """The one-row query's transactions per second, as a part of those without predict."""
        return self.ratio("one row", *self.one_row_series(protocol, clients, form))

    def one_row_medians(self) -> list[float]:
        """Its medians over protocols and clients, the smallest first."""
        ratios = [self.one_row(*how) for how in itertools.product(PROTOCOLS, CLIENTS)]
        return sorted(ratio.median for ratio in ratios if ratio)


def read(run: Path) -> Found:
    """What a run's directory has."""
    return Found(json.loads((run / names.FILE).read_text()))


def given(run: Path) -> dict[str, Any]:
    """What the page's template shows of a run's directory."""
    found = read(run)
    known = {name: value for name, value in vars(names).items() if name.isupper()}
    return {"found": found, "run": found.run, "FORMS": FORMS, **known}
