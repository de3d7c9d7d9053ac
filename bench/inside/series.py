"""The records of `make speed`: subjects, each a unit and series that were measured interleaved.

Values at the same index are of the same repetition, so that ratios are taken within repetitions.
"""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

FILE = "inside.json"
# Parts of series' names: models, protocols and clients of the one-row query, batches or not.
SMALL, LARGE = "25x6", "500x8"
PROTOCOLS, CLIENTS = ("simple", "prepared"), (1, 5, 20)
# Further forms of the one-row query besides columns, and their number of clients.
OTHER_FORMS, OTHER_CLIENTS = ("row", "jsonb"), 5
BATCHES = ("on", "off")
# Numbers of rows of a prepared statement with the small model, and the number with the further ones: one of
# XGBoost, and LightGBM's and CatBoost's with the libraries' defaults.
FEW, SHAPE_ROWS = (1, 10, 100, 300, 1_000), 100
WIDER, LEAFWISE, OBLIVIOUS = "200x8", "lightgbm", "catboost"

Subject = dict[str, Any]
Subjects = dict[str, Subject]
# Repetitions of everything; fresh connections of each kind, and parallel queries; connections that hold a
# model together; those that predict during deploys; rounds of pgbench with each query; seconds of a pgbench
# run, and of a span of deploys.
LOAD = SimpleNamespace(repetitions=5, fresh=200, together=40, asking=4, rounds=9, seconds=2)


def subject(unit: str, series: Mapping[str, list[float]]) -> Subject:
    """Returns a subject's record."""
    if len({len(values) for values in series.values()}) != 1:
        raise ValueError("series of a subject have different lengths")
    return {"unit": unit, "series": {**series}}
