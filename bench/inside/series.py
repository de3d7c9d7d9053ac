"""What is recorded of `make speed`: subjects, each a unit and series that were measured in turn.

Values at the same place are of the same repetition, so that a ratio is taken within each.
"""

from collections.abc import Mapping
from typing import Any

FILE = "inside.json"
# What series are named by: models, protocols and clients of the one-row query, batches or not.
SMALL, LARGE = "25x6", "500x8"
PROTOCOLS, CLIENTS = ("simple", "prepared"), (1, 5, 20)
# Forms of the one-row query that are measured in addition to columns, with so many clients.
OTHER_FORMS, OTHER_CLIENTS = ("row", "jsonb"), 5
BATCHES = ("on", "off")

Subject = dict[str, Any]


def subject(unit: str, series: Mapping[str, list[float]]) -> Subject:
    """One thing that was measured."""
    if len({len(values) for values in series.values()}) != 1:
        raise ValueError("series of a subject have different lengths")
    return {"unit": unit, "series": {**series}}
