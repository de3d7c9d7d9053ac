"""What a flight is looked up by: origin, year, month and day of the month.

A key in Redis is the JSON text of the four whole numbers, blanks included, as
`json.dumps` writes it. They must be integers on both sides: a loader that goes
through a data frame with one float column in it writes "14869.0", and no request
ever finds its flight.
"""

import json
from collections.abc import Sequence

from data.columns import COLUMNS, FEATURES

NAMES = ("originairportid", "year", "month", "dayofmonth")
INDICES = tuple(COLUMNS.index(name) for name in NAMES)
LARGEST = 2**31 - 1
MOST_KEYS = 10_000

Key = tuple[int, int, int, int]


class BadRequest(ValueError):
    """A request that asks for no flight; the message says why."""


def text(key: Sequence[int]) -> str:
    """The key as Redis has it."""
    return json.dumps([*key])


def _is_part(value: object) -> bool:
    # A bool is an int to isinstance, but not to type().
    return type(value) is int and 0 <= value <= LARGEST


def checked(value: object) -> Key:
    """The key that a request holds."""
    if type(value) is list and len(value) == len(NAMES) and all(map(_is_part, value)):
        return tuple(value)
    raise BadRequest(
        f"a key is a list of {len(NAMES)} whole numbers up to {LARGEST}: {', '.join(NAMES)}"
    )


def checked_row(value: object) -> list[float | None]:
    """The features that a request holds; None is a missing one."""
    if (
        type(value) is list
        and len(value) == len(FEATURES)
        and all(one is None or type(one) in (int, float) for one in value)
    ):
        return value
    raise BadRequest(
        f"features are a list of {len(FEATURES)} numbers, or null where one is missing"
    )


def checked_list(value: object) -> list[Key]:
    """The keys that a request for several predictions holds."""
    if type(value) is not list or not 0 < len(value) <= MOST_KEYS:
        raise BadRequest(f"a batch is a list of 1 to {MOST_KEYS} keys")
    return [checked(key) for key in value]
