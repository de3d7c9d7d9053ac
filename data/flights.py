"""Generates flights: `python -m data.flights --rows 1000000 > flights.csv`.

Rows are generated in blocks of fixed size, each from a random stream identified by seed and block number. So
the bytes depend on the seed alone, memory does not grow with the number of rows, a smaller set is a prefix of
a larger one, and missing values change nothing else.

The first row is the flight that the benchmark's one-row query looks up, at every size.
"""

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from data import world
from data.columns import COLUMNS, LOOKED_UP
from data.delays import Flights, delays

BLOCK = 1 << 16
WORDS_PER_ROW = 2
DEFAULT_SEED = 2022

NULL = -1
LARGEST = 99_999

HEADER = ",".join(COLUMNS).encode() + b"\n"


@cache
def _texts() -> NDArray[np.bytes_]:
    """Returns the text of each number; the last entry, at the index -1, is that of NULL."""
    numbers = [str(number).encode() for number in range(LARGEST + 1)]
    return np.array([*numbers, b""], dtype="S5")


def render(rows: NDArray[np.int32]) -> bytes:
    """Renders rows as lines of CSV.

    Every value is a whole number below 100,000 or `NULL`, so its text is looked up, not formatted. A block is
    one array of fixed-width fields, padded with zero bytes; deleting those leaves the lines. That writes
    millions of rows per second; a loop in Python writes a few hundred thousand.
    """
    if rows.size and (rows.max() > LARGEST or rows.min() < NULL):
        raise ValueError(f"a value lies outside {NULL}..{LARGEST}")
    lines = np.empty((*rows.shape, 6), dtype=np.uint8)
    lines[..., :5] = _texts()[rows][..., None].view(np.uint8)
    lines[..., 5] = ord(",")
    lines[:, -1, 5] = ord("\n")
    return lines.tobytes().translate(None, b"\0")


@dataclass(frozen=True)
class Request:
    """A set of flights: their number, the seed, and the share of features that are NULL."""

    rows: int
    seed: int = DEFAULT_SEED
    missing: float = 0.0


def _random_bits(seed: int, block: int) -> list[NDArray[np.uint16]]:
    """Returns eight arrays of sixteen random bits per row."""
    raw = world.words(BLOCK * WORDS_PER_ROW, seed, block).reshape(WORDS_PER_ROW, BLOCK)
    shifts = [np.uint64(shift) for shift in (0, 16, 32, 48)]
    return [(line >> shift).astype(np.uint16) for line in raw for shift in shifts]


def _block(seed: int, block: int) -> NDArray[np.int32]:
    """Generates one block of rows, with the table's columns."""
    net = world.network()
    origin_bits, dest_bits, day_bits, airline_bits, number_bits, tail_bits, chance, cancelled = (
        _random_bits(seed, block)
    )
    origin = net.airport_choice[origin_bits]
    dest = net.airport_choice[dest_bits]
    dest = np.where(dest == origin, (dest + 1) % world.AIRPORTS, dest)
    year, quarter, month, day_of_week, day_of_month = net.calendar[net.day_choice[day_bits]].T
    airline = net.airline_choice[origin, airline_bits & 255].astype(np.int32)
    number = (number_bits % world.FLIGHTS_PER_AIRLINE).astype(np.int32)
    aircraft = (tail_bits % world.AIRCRAFT_PER_AIRLINE).astype(np.int32)
    flights = Flights(origin, airline, number, aircraft, month, day_of_week)
    columns = {
        "depdelayminutes": delays(flights, chance, cancelled),
        "year": year,
        "quarter": quarter,
        "month": month,
        "distance": net.distances[origin, dest],
        "dayofweek": day_of_week,
        "dayofmonth": day_of_month,
        "flight_number_operating_airline": airline * world.FLIGHTS_PER_AIRLINE + number + 1,
        "originairportid": net.airport_ids[origin],
        "destairportid": net.airport_ids[dest],
        "tail_number": world.FIRST_TAIL_NUMBER + airline * world.AIRCRAFT_PER_AIRLINE + aircraft,
    }
    return np.stack([columns[name] for name in COLUMNS], axis=1).astype(np.int32)


def _put_looked_up_flight(rows: NDArray[np.int32]) -> None:
    """Makes the first row the looked-up flight, to the destination it had."""
    net = world.network()
    ids = net.airport_ids.tolist()
    origin = ids.index(LOOKED_UP["originairportid"])
    dest = ids.index(rows[0, COLUMNS.index("destairportid")])
    if dest == origin:
        dest = (dest + 1) % world.AIRPORTS
    known = {
        **LOOKED_UP,
        "quarter": 3,
        "dayofweek": 6,
        "destairportid": ids[dest],
        "distance": net.distances[origin, dest],
    }
    for name, value in known.items():
        rows[0, COLUMNS.index(name)] = value


def _make_missing(rows: NDArray[np.int32], request: Request, block: int) -> None:
    """Sets features to NULL at the given rate, except for the looked-up flight."""
    features = rows[:, 1:]
    draws = world.fractions(BLOCK * features.shape[1], request.seed, block, 1)
    chosen = draws.reshape(BLOCK, -1)[: len(features)] < request.missing
    if block == 0:
        chosen[0] = False
    features[chosen] = NULL


def blocks(request: Request) -> Iterator[NDArray[np.int32]]:
    """Yields the flights in order, as arrays of at most `BLOCK` rows; `NULL` is -1."""
    for block, start in enumerate(range(0, request.rows, BLOCK)):
        rows = _block(request.seed, block)[: request.rows - start]
        if block == 0:
            _put_looked_up_flight(rows)
        if request.missing > 0.0:
            _make_missing(rows, request, block)
        yield rows


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options that select flights."""
    parser.add_argument("--rows", type=int, default=1_000_000, help="default: %(default)s")
    parser.add_argument("--seed", type=int, default=DEFAULT_SEED, help="default: %(default)s")
    parser.add_argument(
        "--missing", type=float, default=0.0, metavar="RATE", help="share of features to make NULL"
    )


def request_of(arguments: argparse.Namespace) -> Request:
    """Validates the options that select flights."""
    if arguments.rows < 0:
        raise SystemExit("--rows must not be negative")
    if arguments.seed < 0:
        raise SystemExit("--seed must not be negative")
    if not 0.0 <= arguments.missing <= 1.0:
        raise SystemExit("--missing must lie between 0 and 1")
    return Request(arguments.rows, arguments.seed, arguments.missing)


def main() -> None:
    """Writes flights as CSV with a header."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_arguments(parser)
    parser.add_argument("--output", type=Path, help="a file; default: standard output")
    arguments = parser.parse_args()
    request = request_of(arguments)
    output = arguments.output.open("wb") if arguments.output else sys.stdout.buffer
    with output, tqdm(total=request.rows, unit=" rows", unit_scale=True, disable=None) as bar:
        output.write(HEADER)
        for rows in blocks(request):
            output.write(render(rows))
            bar.update(len(rows))


if __name__ == "__main__":
    main()
