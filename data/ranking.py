"""Generates trips and offers: `python -m data.ranking --rows 1000000 --output DIRECTORY`.

A ranking predicts the delay of each offer for one trip. A trip has the features of a flight's day, an offer
those of its route and aircraft; together they are the features of a flight. Each offer is of one category of
each size, scattered over the ids. The trips after `count` are copies whose features requests may replace.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from data import world
from data.columns import FEATURES
from data.flights import Request, add_arguments, blocks, request_of

TRIP = ("year", "quarter", "month", "dayofweek", "dayofmonth")
OFFER = tuple(name for name in FEATURES if name not in TRIP)
TRIP_AT, OFFER_AT = ([FEATURES.index(name) for name in names] for names in (TRIP, OFFER))
SIZES = (10, 100, 1_000)
MOST_OFFERS, MOST_TRIPS = 100_000, 10_000
# An offer as services store it: its id, and its features.
RECORD = np.dtype([("id", "<i4"), ("features", "<f4", len(OFFER))])


@dataclass(frozen=True)
class Ranking:
    """The trips and offers of some flights."""

    flights: Request

    @cached_property
    def _rows(self) -> NDArray[np.float32]:
        """The features of the first flights, a whole number of the largest category."""
        most = min(MOST_OFFERS, self.flights.rows // SIZES[-1] * SIZES[-1])
        found = np.concatenate([*blocks(Request(most, self.flights.seed))])
        return found[:, 1:].astype(np.float32)

    @cached_property
    def offers(self) -> NDArray[np.float32]:
        """The features of each offer, by its id."""
        return self._rows[:, OFFER_AT]

    @cached_property
    def trips(self) -> NDArray[np.float32]:
        """The features of each trip and of its copy, by their ids."""
        found = self._rows[::-1][:MOST_TRIPS, TRIP_AT]
        return np.concatenate([found, found])

    @property
    def count(self) -> int:
        """The number of trips without copies."""
        return len(self.trips) // 2

    @cached_property
    def members(self) -> dict[int, NDArray[np.int64]]:
        """The ids of each category's offers, ascending: a row per category, by the categories' size."""
        count, seed = len(self.offers), self.flights.seed
        orders = {
            size: np.argsort(world.words(count, seed, 4, size), kind="stable") for size in SIZES
        }
        return {size: np.sort(order.reshape(-1, size)) for size, order in orders.items()}

    def packed(self, ids: NDArray[np.int64]) -> bytes:
        """Returns the offers of these ids, one after another."""
        found = np.empty(len(ids), RECORD)
        found["id"], found["features"] = ids, self.offers[ids]
        return found.tobytes()

    def rows(self, trip: Sequence[float], ids: NDArray[np.int64]) -> NDArray[np.float32]:
        """Returns the features of a flight for each offer of a trip."""
        found = np.empty((len(ids), len(FEATURES)), np.float32)
        found[:, TRIP_AT], found[:, OFFER_AT] = trip, self.offers[ids]
        return found


def write(ranking: Ranking, directory: Path) -> None:
    """Writes trips.bin, offers.bin by id, and a file of packed offers for each size, by category."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "trips.bin").write_bytes(ranking.trips.astype("<f4").tobytes())
    ids = np.arange(len(ranking.offers))
    (directory / "offers.bin").write_bytes(ranking.packed(ids))
    for size, members in ranking.members.items():
        (directory / f"{size}.bin").write_bytes(ranking.packed(members.ravel()))


def main() -> None:
    """Writes the files of the trips and offers of generated flights."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_arguments(parser)
    parser.add_argument("--output", type=Path, required=True, help="a directory")
    given = parser.parse_args()
    write(Ranking(request_of(given)), given.output)


if __name__ == "__main__":
    main()
