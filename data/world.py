"""The world of the flights: airports, airlines, aircraft and days.

It is the same for every seed, so that a model trained on one set of flights is meaningful for another. All
randomness comes from the raw words of PCG64, a stream that NumPy promises to keep, and all numbers are
computed with the four operations and the square root, whose rounding IEEE 754 defines. So the same seed gives
the same bytes on every machine.

A weighted choice (a busy airport, a summer day) is a table of 65,536 entries, indexed by sixteen random bits,
in which likely values fill more entries.
"""

import datetime
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

CHOICES = 1 << 16

AIRPORTS = 380
AIRPORT_IDS = (10135, 16869)
# The busiest of the United States, in descending order; 14869 is Salt Lake City.
LARGEST_AIRPORTS = (
    10397, 11298, 11292, 13930, 11057, 12892, 13487, 14869, 14747, 12889, 14107, 11433,
    14771, 12266, 11618, 13204, 10721, 12953, 11278, 12478, 13303, 10821, 14679, 13232,
)  # fmt: skip

AIRLINES = 20
FLIGHTS_PER_AIRLINE = 400
AIRCRAFT_PER_AIRLINE = 300
FIRST_TAIL_NUMBER = 101

FIRST_DAY = datetime.date(2018, 1, 1)
LAST_DAY = datetime.date(2022, 12, 31)


@dataclass(frozen=True)
class Network:
    """Lookup tables, each indexed by an airport, an airline or a day."""

    airport_ids: NDArray[np.int32]
    distances: NDArray[np.int32]
    airport_choice: NDArray[np.uint16]
    airline_choice: NDArray[np.uint8]
    calendar: NDArray[np.int32]
    day_choice: NDArray[np.uint16]


def words(count: int, *key: int) -> NDArray[np.uint64]:
    """Returns `count` raw 64-bit words of the stream that `key` identifies."""
    return np.random.PCG64(np.random.SeedSequence(key)).random_raw(count)


def fractions(count: int, *key: int) -> NDArray[np.float64]:
    """Returns `count` exactly representable numbers in [0, 1)."""
    return (words(count, *key) >> np.uint64(11)).astype(np.float64) / float(1 << 53)


def weighted_choice(weights: NDArray[np.float64]) -> NDArray[np.uint16]:
    """Returns a table of `CHOICES` indices, each in proportion to its weight."""
    # cumsum adds in order; the order of np.sum depends on the machine's vector width.
    bounds = np.cumsum(weights)
    ends = np.floor(bounds / bounds[-1] * CHOICES + 0.5).astype(np.int64)
    return np.repeat(np.arange(len(weights), dtype=np.uint16), np.diff(ends, prepend=0))


def _airport_ids() -> NDArray[np.int32]:
    first, last = AIRPORT_IDS
    others = np.setdiff1d(np.arange(first, last + 1), LARGEST_AIRPORTS)
    order = np.argsort(words(len(others), 1), kind="stable")
    small = others[order[: AIRPORTS - len(LARGEST_AIRPORTS)]]
    return np.concatenate([LARGEST_AIRPORTS, small]).astype(np.int32)


def _distances() -> NDArray[np.int32]:
    """Returns the miles between airports, on a plane of about the size of the country."""
    east, north = fractions(AIRPORTS, 2) * 2500.0, fractions(AIRPORTS, 3) * 1100.0
    across = east[:, None] - east[None, :]
    along = north[:, None] - north[None, :]
    miles = np.floor(np.sqrt(across * across + along * along)).astype(np.int32)
    return np.maximum(miles, 31)


def _airline_choice() -> NDArray[np.uint8]:
    """Returns 256 airlines per airport: four share half of its flights, as at a hub."""
    hubs = (words(AIRPORTS * 4, 4) % np.uint64(AIRLINES)).reshape(AIRPORTS, 4)
    any_airline = np.broadcast_to(np.arange(128) % AIRLINES, (AIRPORTS, 128))
    return np.hstack([np.repeat(hubs, 32, axis=1), any_airline]).astype(np.uint8)


def _days() -> list[datetime.date]:
    count = (LAST_DAY - FIRST_DAY).days + 1
    return [FIRST_DAY + datetime.timedelta(days=day) for day in range(count)]


def _calendar() -> NDArray[np.int32]:
    """Returns year, quarter, month, day of the week (1 is Monday) and day of the month."""
    rows = [(d.year, (d.month + 2) // 3, d.month, d.isoweekday(), d.day) for d in _days()]
    return np.array(rows, dtype=np.int32)


def _day_weights() -> NDArray[np.float64]:
    """Returns the days' weights: more in summer, less on Saturdays, little in the spring of 2020."""
    season = (0.9, 0.85, 1.0, 0.98, 1.02, 1.08, 1.12, 1.1, 0.96, 1.0, 0.96, 1.0)
    weights = []
    for day in _days():
        weight = season[day.month - 1] * (0.85 if day.isoweekday() == 6 else 1.0)
        if datetime.date(2020, 3, 20) <= day < datetime.date(2021, 3, 1):
            weight *= 0.3 if day < datetime.date(2020, 6, 1) else 0.6
        weights.append(weight)
    return np.array(weights)


@cache
def network() -> Network:
    """Returns the network, built at the first call in a few milliseconds."""
    return Network(
        airport_ids=_airport_ids(),
        distances=_distances(),
        airport_choice=weighted_choice(1.0 / (np.arange(AIRPORTS) + 4.0)),
        airline_choice=_airline_choice(),
        calendar=_calendar(),
        day_choice=weighted_choice(_day_weights()),
    )
