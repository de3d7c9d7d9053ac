"""Flights reach the table unchanged, the real set's too, and an existing table is safe."""

import io
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import psycopg
import pytest

from data.columns import COLUMNS
from data.flights import Request, blocks, render
from data.kaggle import csv_blocks, tail_code
from data.load import copy_rows, create_table
from tools.cluster import Cluster

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def database(cluster: Cluster) -> Iterator[psycopg.Connection]:
    """A database without the extension: loading flights does not need it."""
    cluster.create_database("flights_load", replace=True)
    with cluster.connect("flights_load") as connection:
        yield connection


def load(cluster: Cluster, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "data.load", "-d", cluster.conninfo("flights_load")]
    return subprocess.run(
        [*command, *options], cwd=ROOT, capture_output=True, text=True, check=False
    )


def test_generated_flights_come_back_as_they_were(
    cluster: Cluster, database: psycopg.Connection
) -> None:
    done = load(cluster, "--rows", "70000", "--seed", "4")
    assert done.returncode == 0, done.stderr
    assert "70,000 flights loaded" in done.stdout
    columns = ", ".join(f"{name}::int" for name in COLUMNS)
    with database.cursor().copy(
        f"COPY (SELECT {columns} FROM flights) TO STDOUT (FORMAT csv)"
    ) as out:
        stored = b"".join(bytes(part) for part in out)
    assert stored == b"".join(map(render, blocks(Request(70_000, 4))))
    nullable = (
        "SELECT count(*) FROM pg_attribute WHERE attrelid = 'flights'::regclass "
        "AND attnum > 0 AND NOT attnotnull"
    )
    assert database.execute(nullable).fetchone() == (1,)
    index = "SELECT indexdef FROM pg_indexes WHERE tablename = 'flights'"
    assert "(originairportid, year, month, dayofmonth)" in database.execute(index).fetchone()[0]


def test_missing_features_are_stored_as_null(
    cluster: Cluster, database: psycopg.Connection
) -> None:
    assert load(cluster, "--rows", "10000", "--missing", "0.5").returncode == 0
    share = database.execute("SELECT avg((distance IS NULL)::int) FROM flights").fetchone()[0]
    assert 0.45 < share < 0.55


def test_an_existing_table_is_kept_unless_replace_is_given(
    cluster: Cluster, database: psycopg.Connection
) -> None:
    count = "SELECT count(*) FROM flights"
    assert load(cluster, "--rows", "10").returncode == 0
    again = load(cluster, "--rows", "20")
    assert again.returncode != 0
    assert 'relation "flights" already exists' in again.stderr
    assert database.execute(count).fetchone() == (10,)
    assert load(cluster, "--rows", "20", "--replace").returncode == 0
    assert database.execute(count).fetchone() == (20,)


# As in Combined_Flights_2018.csv: far more columns, in another order.
HEADER = (
    "FlightDate,Airline,Origin,Dest,Cancelled,DepDelayMinutes,Distance,Year,Quarter,Month,"
    "DayofMonth,DayOfWeek,Tail_Number,Flight_Number_Operating_Airline,OriginAirportID,DestAirportID"
)
FLOWN = "2018-01-23,Endeavor Air Inc.,ABY,ATL,False,7.0,145.0,2018,1,1,23,2,N8928A,3298,10146,10397"
CANCELLED = "2018-01-24,Endeavor Air Inc.,ABY,ATL,True,,145.0,2018,1,1,24,3,,3298,10146,10397"


def read(path: Path) -> pd.DataFrame:
    text = b"".join(lines for lines, _ in csv_blocks([path]))
    return pd.read_csv(io.BytesIO(text), names=COLUMNS)


def test_columns_are_found_by_name(tmp_path: Path) -> None:
    source = tmp_path / "Combined_Flights_2018.csv"
    source.write_text("\n".join([HEADER, FLOWN, CANCELLED]) + "\n")
    flown, cancelled = read(source).to_dict("records")
    values = (7.0, 2018, 1, 1, 145.0, 2, 23, 3298, 10146, 10397, tail_code("N8928A"))
    names = (
        "depdelayminutes", "year", "quarter", "month", "distance", "dayofweek", "dayofmonth",
        "flight_number_operating_airline", "originairportid", "destairportid", "tail_number",
    )  # fmt: skip
    assert flown == dict(zip(names, values, strict=True))
    assert pd.isna(cancelled["depdelayminutes"])
    assert cancelled["tail_number"] == 0


def test_rows_are_counted_over_several_files(tmp_path: Path) -> None:
    paths = [tmp_path / f"Combined_Flights_{year}.csv" for year in (2018, 2019)]
    for path in paths:
        path.write_text("\n".join([HEADER, FLOWN, FLOWN, FLOWN]) + "\n")
    assert sum(count for _, count in csv_blocks(paths)) == 6


def test_a_file_without_a_column_is_refused_by_name(tmp_path: Path) -> None:
    source = tmp_path / "flights.csv"
    source.write_text("Year,Month\n2018,1\n")
    with pytest.raises(SystemExit, match=r"flights\.csv: no column DepDelayMinutes, Quarter"):
        list(csv_blocks([source]))


def test_a_tail_number_has_one_code_that_a_real_holds() -> None:
    assert tail_code("N8928A") == tail_code(" n8928a ") == 4813520
    assert tail_code("") == 0
    assert len({tail_code(f"N{number}AA") for number in range(100, 1000)}) == 900
    assert all(tail_code(f"N{number}AA") < 2**24 for number in range(100, 1000))


def test_the_files_load_into_the_table(cluster: Cluster, tmp_path: Path) -> None:
    source = tmp_path / "Combined_Flights_2018.csv"
    source.write_text("\n".join([HEADER, FLOWN, CANCELLED]) + "\n")
    cluster.create_database("kaggle_load", replace=True)
    with cluster.connect("kaggle_load") as connection:
        create_table(connection, nullable=True)
        assert copy_rows(connection, csv_blocks([source]), None) == 2
        query = "SELECT depdelayminutes, distance, tail_number FROM flights ORDER BY dayofmonth"
        assert connection.execute(query).fetchall() == [
            (7.0, 145.0, float(tail_code("N8928A"))),
            (None, 145.0, 0.0),
        ]
