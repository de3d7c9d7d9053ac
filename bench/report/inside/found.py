"""The run's figures: medians with ranges, ratios and differences within each repetition.

A subject or a series that was not measured gives none. Of fresh connections, of which there are
hundreds, the range is that of the middle half.
"""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from bench.results import Spread
from speed.record import LARGE, Inside
from workbench import queries

FORMS = (*queries.FORMS,)
COLUMNS = FORMS[0]


@dataclass(frozen=True)
class Found:
    """A run, asked for figures; a subject that was not measured gives none."""

    run: Inside

    def values(self, subject: str, series: str) -> list[float]:
        """Of every repetition; none if it was not measured."""
        found = self.run.subjects.get(subject)
        return found.series.get(series, []) if found else []

    def spread(self, subject: str, series: str, scale: float = 1.0) -> Spread | None:
        """Median and range, times a factor."""
        return spread_of([value * scale for value in self.values(subject, series)])

    def ratio(self, subject: str, above: str, below: str) -> Spread | None:
        """How many times the other series."""
        pairs = zip(self.values(subject, above), self.values(subject, below), strict=True)
        return spread_of([a / b for a, b in pairs])

    def more(self, subject: str, series: str, than: str, scale: float = 1.0) -> list[float]:
        """How much more than the other series, each time."""
        pairs = zip(self.values(subject, series), self.values(subject, than), strict=True)
        return [(a - b) * scale for a, b in pairs]

    def has(self, subject: str) -> bool:
        """Whether it was measured."""
        return subject in self.run.subjects


def spread_of(values: Sequence[float]) -> Spread | None:
    return Spread.of([*values]) if values else None


def middle(values: Sequence[float]) -> Spread | None:
    """The median and the middle half."""
    if len(values) < 2:
        return spread_of(values)
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return Spread(median, low, high)


def against_batch(found: Found, label: str, form: str, batch: str) -> Spread | None:
    """The whole scan, as a part of XGBoost's own batch."""
    return found.ratio("scan", f"{label}/{form}/{batch}", f"xgboost/{label}")


def one_row(found: Found, protocol: str, clients: int, form: str = COLUMNS) -> Spread | None:
    """The one-row query's transactions a second, as a part of those without predict."""
    return found.ratio("one row", *one_row_series(protocol, clients, form))


def one_row_series(protocol: str, clients: int, form: str) -> tuple[str, str]:
    """The names of its series, with predict and without."""
    names = ("predict", "control") if form == COLUMNS else (form, f"{form} control")
    return tuple(f"{protocol}/{clients}/{name}" for name in names)


def added_to_scan(found: Found, label: str, form: str, batch: str) -> Spread | None:
    """What predict adds to the plain scan, as a part of XGBoost's own batch."""
    more = found.more("scan", f"{label}/{form}/{batch}", "plain")
    pairs = zip(more, found.values("scan", f"xgboost/{label}"), strict=True)
    return spread_of([a / b for a, b in pairs])


def in_images(found: Found, than: str = "control", subject: str = "copies") -> Spread | None:
    """The growth of the sum of Pss, in images of the large model."""
    model = found.run.models.get(LARGE)
    more = found.more(subject, f"sum/{LARGE}", f"sum/{than}")
    return spread_of([value / model.image_bytes for value in more]) if model else None


def speedup(found: Found, name: str) -> Spread | None:
    return found.ratio("workers", f"{name}/1", f"{name}/2")


def two_connections(found: Found, name: str) -> Spread | None:
    """How much more two connections get done at once than one: what the machine has to give."""
    ratio = found.ratio("workers", f"{name}/alone", f"{name}/together")
    if not ratio:
        return None
    return Spread(2 * ratio.median, 2 * ratio.smallest, 2 * ratio.largest)


def above(found: Found, subject: str, series: str, than: str) -> Spread | None:
    return middle(found.more(subject, series, than, 1e3))
