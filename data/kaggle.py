"""Reads the real flights: Kaggle's robikscube/flight-delay-dataset-20182022.

The files Combined_Flights_2018.csv to Combined_Flights_2022.csv have 61 columns, of which the benchmark uses
eleven. Download and unpack them (Kaggle requires an account), then pass them to `data.load --kaggle`.

A tail number such as N101NN is text, but the benchmark's column is a real. The original authors did not
publish their conversion; here it is the low 24 bits of the CRC-32 of the stripped text in upper case: the
same for every file, year and machine, and exact in a real. A flight without a tail number has 0. A cancelled
flight has no delay, and its DepDelayMinutes stays NULL.
"""

import zlib
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from data.columns import COLUMNS

CHUNK = 200_000

# The table's columns and their names in the files.
SOURCES = {
    "depdelayminutes": "DepDelayMinutes",
    "year": "Year",
    "quarter": "Quarter",
    "month": "Month",
    "distance": "Distance",
    "dayofweek": "DayOfWeek",
    "dayofmonth": "DayofMonth",
    "flight_number_operating_airline": "Flight_Number_Operating_Airline",
    "originairportid": "OriginAirportID",
    "destairportid": "DestAirportID",
    "tail_number": "Tail_Number",
}


def tail_code(tail: str) -> int:
    """Converts a tail number to the number in the table."""
    text = tail.strip().upper()
    return zlib.crc32(text.encode()) & 0xFFFFFF if text else 0


def _require_columns(path: Path) -> None:
    present = pd.read_csv(path, nrows=0).columns
    absent = [name for name in SOURCES.values() if name not in present]
    if absent:
        raise SystemExit(f"{path}: no column {', '.join(absent)}")


def _table_of(frame: pd.DataFrame) -> pd.DataFrame:
    """Returns the table's columns, with encoded tail numbers."""
    table = pd.DataFrame({name: frame[SOURCES[name]] for name in COLUMNS})
    tails = table["tail_number"].fillna("")
    codes = {tail: tail_code(tail) for tail in tails.unique()}
    table["tail_number"] = tails.map(codes)
    return table


def csv_blocks(paths: list[Path]) -> Iterator[tuple[bytes, int]]:
    """Yields CSV lines with their number, file after file."""
    for path in paths:
        _require_columns(path)
        wanted = list(SOURCES.values())
        types = {"Tail_Number": "str"}
        for frame in pd.read_csv(path, usecols=wanted, dtype=types, chunksize=CHUNK):
            text = _table_of(frame).to_csv(index=False, header=False)
            yield text.encode(), len(frame)
