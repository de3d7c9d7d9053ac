"""`python -m bench.table_size`: what a prediction costs as the feature table grows.

One feature table a size, with a bigint key, each of the same flights again and again; pgbench
asks, by prepared statement, for the prediction of a key drawn evenly from the whole table, and,
as the control, for one column of that row. Everything fits shared_buffers and is read into them
first: what is seen is the deeper index and the processor's caches, not a disk. All take turns.
Writes table-size.json, which docs/benchmarks/scale.md is made from.
"""

import argparse
import time
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from bench import machine, processes, record
from bench.generators import Load, pgbench
from bench.results import Spread
from bench.turns import in_turn
from cluster import Cluster, start, stop
from data.columns import FEATURES
from data.flights import Request
from data.load import copy_rows, create_table, generated
from workbench.training import Recipe, trained

STATE = record.ROOT / ".bench" / "table-size"
PREFERRED_PORT = 54370
DATABASE = "table_size"
TREES = 25
ROWS = (100_000, 1_000_000, 10_000_000)
FLIGHTS = 100_000
SETTINGS = {"shared_buffers": "2GB"}

COLUMNS = ", ".join(FEATURES)
ASKED = {"predict": f"predict('flights', {COLUMNS})", "fetch": "distance"}


def _create(cluster: Cluster, model: Path) -> None:
    """A database with the extension, the model, and the flights that the tables repeat."""
    cluster.create_database(DATABASE, replace=True)
    with cluster.connect(DATABASE) as connection:
        for extension in ("pgboost", "pg_prewarm", "pageinspect"):
            connection.execute(f"CREATE EXTENSION {extension}")
        connection.execute("SELECT load_model('flights', %s)", (model.read_bytes(),))
        create_table(connection)
        copy_rows(connection, generated(Request(FLIGHTS)), FLIGHTS)


def _fill(cluster: Cluster, rows: int) -> dict[str, Any]:
    """Makes a table of so many rows, in memory, and says what it takes."""
    name = f"features_{rows}"
    began = time.monotonic()
    with cluster.connect(DATABASE) as connection:
        connection.execute(
            f"CREATE TABLE {name} AS SELECT row_number() OVER () AS id, {COLUMNS}"
            f" FROM generate_series(1, {-(-rows // FLIGHTS)}), flights LIMIT {rows}"
        )
        connection.execute(f"ALTER TABLE {name} ADD PRIMARY KEY (id)")
        connection.execute(f"VACUUM ANALYZE {name}")
        seconds = time.monotonic() - began
        connection.execute("SELECT pg_prewarm(%s), pg_prewarm(%s)", (name, f"{name}_pkey"))
        table, index, levels = connection.execute(
            "SELECT pg_table_size(%s), pg_relation_size(%s), (bt_metap(%s)).level",
            (name, f"{name}_pkey", f"{name}_pkey"),
        ).fetchone()
    for asked, wanted in ASKED.items():
        script = f"\\set id random(1, {rows})\nSELECT {wanted} FROM {name} WHERE id = :id;\n"
        _script(rows, asked).write_text(script)
    return {
        "rows": rows, "load_seconds": seconds, "table_bytes": table, "index_bytes": index,
        "bytes_a_row": (table + index) / rows, "index_levels": levels + 1,
    }  # fmt: skip


def _script(rows: int, asked: str) -> Path:
    return STATE / f"{asked}_{rows}.sql"


def _run(cluster: Cluster, rows: int, asked: str, load: Load) -> tuple[float, float]:
    """Requests per second, and microseconds of all of the server's processes for one."""
    postmaster = int((cluster.place.data / "postmaster.pid").read_text().split()[0])
    before = processes.cpu_seconds([postmaster])
    figures = pgbench.run(cluster, DATABASE, _script(rows, asked), "prepared", load)
    us = (processes.cpu_seconds([postmaster]) - before) * 1e6 / figures.requests
    print(f"{rows:>12,} rows, {asked:8}{us:8.1f} us of the server's processor time", flush=True)
    return figures.requests_per_second, us


def measure(sizes: Sequence[int], load: Load, repetitions: int) -> dict[str, Any]:
    """The whole result; the cluster is deleted after."""
    began = record.now()
    STATE.mkdir(parents=True, exist_ok=True)
    model = trained(Recipe(FLIGHTS, TREES), STATE, "model")[0].path
    stop(STATE, delete=True)
    cluster, _ = start(STATE, PREFERRED_PORT, SETTINGS)
    try:
        _create(cluster, model)
        filled = [_fill(cluster, rows) for rows in sizes]
        runs = in_turn(
            {(r, asked): partial(_run, cluster, r, asked, load) for r in sizes for asked in ASKED},
            repetitions,
        )
        with cluster.connect() as connection:
            version = connection.execute("SHOW server_version").fetchone()[0]
    finally:
        stop(STATE, delete=True)
    for one in filled:
        for asked in ASKED:
            found = zip(*runs[one["rows"], asked], strict=True)
            spreads = [asdict(Spread.of([*values])) for values in found]
            one[asked] = dict(zip(("requests_per_second", "us"), spreads, strict=True))
    known = {"protocol": "prepared", "clients": load.clients, "seconds": load.seconds}
    return {
        "schema": 1, "started": began, "commit": record.commit(), "machine": machine.facts(),
        "versions": {"postgresql": version}, "settings": SETTINGS, "trees": TREES,
        "load": {**known, "repetitions": repetitions}, "rows": filled,
    }  # fmt: skip


def main() -> None:
    """Measures and writes the result."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=ROWS, help="of each table")
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--seconds", type=int, default=5, help="of a run")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--output", type=Path, default=record.RESULTS)
    given = parser.parse_args()
    result = measure(given.rows, Load(given.clients, given.seconds, seed=0), given.repetitions)
    path = record.directory(given.output, "table-size") / "table-size.json"
    record.write(path, result)
    print(f"results in {path}")


if __name__ == "__main__":
    main()
