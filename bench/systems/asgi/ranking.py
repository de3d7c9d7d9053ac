"""The rankings: a trip and packed offers become the model's rows, the best ten of them the answer."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.requests import BEST
from bench.systems.asgi.libraries import WIDTH
from bench.systems.asgi.stores import Values, Verb
from data.ranking import OFFER_AT, RECORD, SIZES, TRIP, TRIP_AT
from python_baseline.keys import MOST_KEYS, BadRequest

# The places of an offer's features, as slices where they are next to each other.
_FIRST, *_REST = OFFER_AT
_LAST = slice(_REST[0], _REST[-1] + 1)


def _numbers(body: object, count: int) -> Sequence[Any]:
    if type(body) is list and len(body) == count and all(type(one) in (int, float) for one in body):
        return body
    raise BadRequest(f"a ranking is a list of {count} numbers")


def _rows(trip: NDArray[np.float32], offers: NDArray[np.float32]) -> bytes:
    rows = np.empty((len(offers), WIDTH), np.float32)
    rows[:, TRIP_AT] = trip
    rows[:, _FIRST] = offers[:, 0]
    rows[:, _LAST] = offers[:, 1:]
    return rows.tobytes()


def best(ids: NDArray[np.integer[Any]], scores: NDArray[np.float32]) -> list[list[float]]:
    """Returns the best ids and their scores; of equal ones the smaller ids, which come first, are first."""
    if len(scores) > BEST:
        least = -np.partition(-scores, BEST - 1)[BEST - 1]
        at = np.flatnonzero(scores >= least)
        ids, scores = ids[at], scores[at]
    order = np.argsort(-scores, kind="stable")[:BEST]
    return [[*pair] for pair in zip(ids[order].tolist(), scores[order].tolist(), strict=True)]


def _packed(value: bytes) -> NDArray[Any]:
    return np.frombuffer(value, RECORD)


def _of_packed(_: Any, values: Values, scores: NDArray[np.float32]) -> list[list[float]]:
    return best(_packed(values[-1])["id"], scores)


def of_category(size: int) -> Verb:
    """Returns the verb for a trip and a category of this size, whose offers are one value."""

    def wanted(body: object) -> Sequence[str]:
        trip, category = _numbers(body, 2)
        return f"trip:{trip}", f"category:{size}:{category}"

    def rows(_: Any, values: Values) -> bytes:
        return _rows(np.frombuffer(values[0], np.float32), _packed(values[1])["features"])

    return Verb(wanted, _of_packed, rows)


def _ids(body: object) -> Sequence[str]:
    if (
        type(body) is list
        and len(body) == 2
        and type(body[1]) is list
        and 0 < len(body[1]) <= MOST_KEYS
    ):
        return f"trip:{body[0]}", *(f"offer:{one}" for one in body[1])
    raise BadRequest(f"a ranking is a trip and a list of 1 to {MOST_KEYS} ids")


def _rows_of_ids(_: Any, values: Values) -> bytes:
    offers = np.frombuffer(b"".join(values[1:]), np.float32).reshape(len(values) - 1, -1)
    return _rows(np.frombuffer(values[0], np.float32), offers)


def _best_of_ids(body: Any, _: Values, scores: NDArray[np.float32]) -> list[list[float]]:
    ids = np.array(body[1])
    order = np.argsort(ids)
    return best(ids[order], scores[order])


# A trip and ids, whose offers are a value each.
OF_IDS = Verb(_ids, _best_of_ids, _rows_of_ids)


def _new(body: Any) -> NDArray[np.float32]:
    return np.array(body[1 : 1 + len(TRIP)], np.float32)


# A trip, its new features, and a category. What was written need not be read again.
WRITTEN = Verb(
    lambda body: [f"category:{SIZES[0]}:{_numbers(body, len(TRIP) + 2)[-1]}"],
    _of_packed,
    lambda body, values: _rows(_new(body), _packed(values[0])["features"]),
    written=lambda body: (f"trip:{body[0]}", _new(body).tobytes()),
)
