"""The lookup key of a flight: origin, year, month and day of the month.

A key in Redis is the JSON text of the four integers as `json.dumps` writes it, blanks included. Both sides
need integers: a loader that uses a data frame with a float column writes "14869.0", and no request finds the
flight.
"""

from collections.abc import Sequence

from data.columns import COLUMNS, FEATURES

NAMES = ("originairportid", "year", "month", "dayofmonth")
INDICES = tuple(COLUMNS.index(name) for name in NAMES)
LARGEST = 2**31 - 1
MOST_KEYS = 10_000

Key = tuple[int, int, int, int]


class BadRequest(ValueError):
    """An invalid request; the message says why."""


def text(key: Sequence[int]) -> str:
    """Returns the key's text in Redis."""
    # What json.dumps writes, in a fifth of its time.
    origin, year, month, day = key
    return f"[{origin}, {year}, {month}, {day}]"


def _is_part(value: object) -> bool:
    # A bool is an int to isinstance, but not to type().
    return type(value) is int and 0 <= value <= LARGEST


def checked(value: object) -> Key:
    """Validates the key of a request."""
    if type(value) is list and len(value) == len(NAMES) and all(map(_is_part, value)):
        return tuple(value)
    raise BadRequest(
        f"a key is a list of {len(NAMES)} whole numbers up to {LARGEST}: {', '.join(NAMES)}"
    )


def checked_row(value: object) -> list[float | None]:
    """Validates the features of a request; None is a missing one."""
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
    """Validates the keys of a request for several predictions."""
    if type(value) is not list or not 0 < len(value) <= MOST_KEYS:
        raise BadRequest(f"a batch is a list of 1 to {MOST_KEYS} keys")
    return [checked(key) for key in value]
