"""What comes before any prediction: loading the features, and training, each way as often as it was measured.

A way to train is its name, its rows, rounds and threads; the figures of the same way are put together.
"""

from dataclasses import dataclass
from typing import Any

from bench.report.entries import POSTGRES
from bench.report.measured import Measured
from bench.results import Spread

# The function of pgboost_train, by which its way to train is told from Python's.
SQL_TRAINING = "train_model"


@dataclass(frozen=True)
class Trained:
    """One way to train, with its spreads over the times it was measured."""

    what: str
    rows: int
    rounds: int
    threads: int
    seconds: Spread
    megabytes: Spread


def trainings(measured: Measured) -> list[Trained]:
    """Every way, in the order of the file."""
    found: dict[tuple[str, int, int, int], list[tuple[float, float]]] = {}
    for one in measured.result.training:
        figures = (one.seconds, one.peak_bytes_above_idle / 1e6)
        found.setdefault((one.what, one.rows, one.rounds, one.threads), []).append(figures)
    return [
        Trained(*way, *(Spread.of([*column]) for column in zip(*figures, strict=True)))
        for way, figures in found.items()
    ]


def slower(measured: Measured) -> list[tuple[str, Any, Any]]:
    """Where loading or training takes longer in PostgreSQL: verb, PostgreSQL's way, the quicker one."""
    found = [
        ("Loading", own, other)
        for own in measured.result.loading
        for other in measured.result.loading
        if own.what.startswith(POSTGRES) and not other.what.startswith(POSTGRES)
        if own.rows == other.rows and other.seconds < own.seconds
    ]
    ways = trainings(measured)
    return found + [
        ("Training on", own, other)
        for own in ways
        for other in ways
        if SQL_TRAINING in own.what and SQL_TRAINING not in other.what
        if (own.rows, own.rounds, own.threads) == (other.rows, other.rounds, other.threads)
        if other.seconds.median < own.seconds.median
    ]
