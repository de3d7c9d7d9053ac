"""Targets, and whether the medians meet them."""

from dataclasses import dataclass

from bench.report.figures import NOTHING, Written, ranged, three_digits, times
from bench.report.inside.found import (
    Found,
    above,
    added_to_scan,
    against_batch,
    in_images,
    one_row,
    speedup,
)
from bench.results import Spread
from speed.record import CLIENTS, LARGE, OTHER_CLIENTS, OTHER_FORMS, PROTOCOLS, SMALL


@dataclass(frozen=True)
class Bar:
    """A target and what was found."""

    what: str
    found: Spread | None
    bound: float
    least: bool
    written: Written
    unit: str = ""

    def cells(self) -> list[str]:
        """The line of the table."""
        bound = f"{'at least' if self.least else 'at most'} {self.bound:g}{self.unit}"
        if self.found is None:
            return [self.what, NOTHING, bound, "not measured"]
        met = self.found.median >= self.bound if self.least else self.found.median <= self.bound
        figure = ranged(self.found, self.written) + self.unit
        return [self.what, figure, bound, "met" if met else "missed"]


def bars(found: Found) -> list[Bar]:
    """Every target, with what was found."""
    milliseconds = {"written": three_digits, "unit": " ms"}
    return [
        Bar(
            "scan, 25x6, columns, against the scan with `array_length`",
            found.ratio("scan", f"{SMALL}/columns/on", "control"), 1.1, False, times,
        ),
        Bar(
            "what predict adds to the plain scan, 500x8, against XGBoost's own batch",
            added_to_scan(found, LARGE, "columns", "on"), 0.25, False, three_digits,
        ),
        Bar(
            "the whole scan, 500x8, against XGBoost's own batch",
            against_batch(found, LARGE, "columns", "on"), 0.25, False, three_digits,
        ),
        *(
            Bar(f"two workers against one, {label}", speedup(found, label), 1.8, True, times)
            for label in (SMALL, LARGE)
        ),
        Bar(
            f"memory of {found.run.workload['together']} connections that predict, 500x8, in images",
            in_images(found), 2, False, times,
        ),
        Bar(
            "the same, above as many that predict with 25x6",
            in_images(found, SMALL), 2, False, times,
        ),
        Bar(
            "the same, above as many that do not predict, with the library preloaded",
            in_images(found, subject="preloaded copies"), 2, False, times,
        ),
        *(
            Bar(
                f"first prediction of a connection above its first `SELECT 1`, {label}",
                above(found, "fresh", f"constants/{label}", "SELECT 1"), 0.5, False, **milliseconds,
            )
            for label in (SMALL, LARGE)
        ),
        *(
            Bar(
                f"the same with the library preloaded, {label}",
                above(found, "preloaded", f"constants/{label}", "SELECT 1"), 0.5, False, **milliseconds,
            )
            for label in (SMALL, LARGE)
        ),
        *(
            Bar(
                f"parallel query with a worker's first prediction above the same without{text}, {label}",
                above(found, subject, label, "control"), 0.5, False, **milliseconds,
            )
            for subject, text in (("fresh workers", ""), ("preloaded workers", ", preloaded"))
            for label in (SMALL, LARGE)
        ),
        *(
            Bar(
                f"longest statement of any connection during `{name}`",
                found.spread("deploys", name, 1e3), 50, False, **milliseconds,
            )
            for name in ("deploy_model", "load_model")
        ),
        *(
            Bar(
                f"one-row query against `array_length`, {protocol}, {clients} client{'s' * (clients > 1)}",
                one_row(found, protocol, clients), 0.97, True, times,
            )
            for protocol in PROTOCOLS for clients in CLIENTS
        ),
        *(
            Bar(
                f"one-row query, {form} form, against `pg_column_size`, {protocol}, {OTHER_CLIENTS} clients",
                one_row(found, protocol, OTHER_CLIENTS, form), 0.9, True, times,
            )
            for form in OTHER_FORMS for protocol in PROTOCOLS
        ),
    ]  # fmt: skip
