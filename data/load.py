"""Loads flights into PostgreSQL by COPY: `python -m data.load --rows 1000000 -d dbname=demo`.

Generated flights and the Kaggle files are streamed as CSV into one COPY, so the table is filled completely or
not at all. Table and index are those of sql/. With --missing or --kaggle no feature column is NOT NULL.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

import psycopg
from psycopg import sql
from tqdm import tqdm

from data import kaggle
from data.columns import COLUMNS, FEATURES
from data.flights import Request, add_arguments, blocks, render, request_of

SQL = Path(__file__).resolve().parent.parent / "sql"


def generated(request: Request) -> Iterator[tuple[bytes, int]]:
    """Yields generated flights as CSV lines with their number."""
    for rows in blocks(request):
        yield render(rows), len(rows)


def create_table(connection: psycopg.Connection, nullable: bool = False) -> None:
    """Creates the empty table flights; `nullable` lets features be NULL."""
    connection.execute((SQL / "flights.sql").read_bytes())
    if nullable:
        for name in FEATURES:
            connection.execute(
                sql.SQL("ALTER TABLE flights ALTER COLUMN {} DROP NOT NULL").format(
                    sql.Identifier(name)
                )
            )


def copy_rows(
    connection: psycopg.Connection, lines: Iterator[tuple[bytes, int]], total: int | None
) -> int:
    """Copies CSV lines into flights, with a progress bar; returns the number of rows."""
    columns = sql.SQL(", ").join(map(sql.Identifier, COLUMNS))
    statement = sql.SQL("COPY flights ({}) FROM STDIN (FORMAT csv)").format(columns)
    copied = 0
    with (
        connection.cursor() as cursor,
        tqdm(total=total, unit=" rows", unit_scale=True, disable=None) as bar,
        cursor.copy(statement) as copy,
    ):
        for text, count in lines:
            copy.write(text)
            copied += count
            bar.update(count)
    return copied


def finish_table(connection: psycopg.Connection) -> None:
    """Builds the index and runs VACUUM ANALYZE, which needs autocommit."""
    connection.execute((SQL / "index.sql").read_bytes())
    connection.execute("VACUUM (ANALYZE) flights")


def main() -> None:
    """Loads generated or real flights into a new table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "-d", "--database", default="", metavar="CONNINFO", help="a connection string of libpq"
    )
    add_arguments(parser)
    parser.add_argument("--kaggle", nargs="+", type=Path, metavar="CSV", help="the real flights")
    parser.add_argument("--replace", action="store_true", help="drop a table flights that exists")
    arguments = parser.parse_args()
    request = request_of(arguments)
    with psycopg.connect(arguments.database, autocommit=True) as connection:
        with connection.transaction():
            if arguments.replace:
                connection.execute("DROP TABLE IF EXISTS flights")
            create_table(connection, nullable=bool(arguments.kaggle) or request.missing > 0.0)
            if arguments.kaggle:
                copied = copy_rows(connection, kaggle.csv_blocks(arguments.kaggle), None)
            else:
                copied = copy_rows(connection, generated(request), request.rows)
        finish_table(connection)
    print(f"{copied:,} flights loaded")


if __name__ == "__main__":
    main()
