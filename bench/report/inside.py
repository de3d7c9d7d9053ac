"""The figures of one `make speed`, from its inside.json: the cost of predictions inside the database.

Figures are medians with ranges; ratios and differences are taken within each repetition. They are None for a
subject or a series that was not measured. The range of hundreds of fresh connections is the middle half.
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


def _middle(values: Sequence[float]) -> Spread | None:
    """Returns the median and the middle half."""
    if len(values) < 2:
        return Spread.of(values) if values else None
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return Spread(median, low, high)


@dataclass(frozen=True)
class Found:
    """The figures of a run."""

    run: Mapping[str, Any]

    def has(self, subject: str) -> bool:
        """Whether the subject was measured."""
        return subject in self.run["subjects"]

    def values(self, subject: str, series: str, scale: float = 1.0) -> list[float]:
        """Returns a series times a factor; an empty list if it was not measured."""
        found = self.run["subjects"].get(subject, {"series": {}})
        return [value * scale for value in found["series"].get(series, ())]

    def _compared(
        self, subject: str, series: str, minus: str, over: str, scale: float
    ) -> list[float]:
        """Returns a series, or its differences to another or its ratios to a third, by repetition."""
        found = self.values(subject, series, scale)
        if minus:
            less = self.values(subject, minus, scale)
            found = [a - b for a, b in zip(found, less, strict=True)]
        if over:
            found = [a / b for a, b in zip(found, self.values(subject, over), strict=True)]
        return found

    def figure(
        self, subject: str, series: str, minus: str = "", over: str = "", scale: float = 1.0
    ) -> Spread | None:
        """Returns the median and the range of a series, of differences to another, or of ratios."""
        found = self._compared(subject, series, minus, over, scale)
        return Spread.of(found) if found else None

    def above(self, subject: str, series: str, than: str = "", scale: float = 1e3) -> Spread | None:
        """Returns the median and the middle half of a series or of differences, in milliseconds."""
        return _middle(self._compared(subject, series, than, "", scale))

    def ns(self, subject: str, series: str) -> Spread | None:
        """Returns seconds for all rows as nanoseconds per row."""
        return self.figure(subject, series, scale=1e9 / self.run["workload"]["rows"])

    def one_row_series(self, protocol: str, clients: int, form: str = COLUMNS) -> list[str]:
        """Returns the names of the one-row query's series, with predict and without."""
        names = ("predict", "control") if form == COLUMNS else (form, f"{form} control")
        return [f"{protocol}/{clients}/{name}" for name in names]

    def one_row(self, protocol: str, clients: int, form: str = COLUMNS) -> Spread | None:
        """Returns the one-row query's transactions per second relative to those without predict."""
        predict, control = self.one_row_series(protocol, clients, form)
        return self.figure("one row", predict, over=control)

    def one_row_medians(self) -> list[float]:
        """Returns the medians of `one_row` over protocols and clients, in ascending order."""
        ratios = [self.one_row(*how) for how in itertools.product(PROTOCOLS, CLIENTS)]
        return sorted(ratio.median for ratio in ratios if ratio)


def given(run: Path) -> dict[str, Any]:
    """Returns the template's variables from a run's directory."""
    found = Found(json.loads((run / names.FILE).read_text()))
    known = {name: value for name, value in vars(names).items() if name.isupper()}
    return {"found": found, "run": found.run, "FORMS": FORMS, **known}
