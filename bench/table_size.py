"""`python -m bench.table_size`: what a prediction costs as the feature table grows.

One feature table a size, with a bigint key, each of the same flights again and again; pgbench
asks, by prepared statement, for the prediction of a key drawn evenly from the whole table, and,
as the control, for one column of that row. Everything fits shared_buffers and is read into them
first: what is seen is the deeper index and the processor's caches, not a disk. All take turns.
Writes table-size.json, which docs/benchmarks/scale.md is made from.
"""

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import psycopg

from bench import machine, processes, results
from bench.generators import number
from bench.harness import ROOT, commit, now
from bench.results import Spread
from cluster import Cluster, start, stop
from data.columns import FEATURES
from data.flights import Request
from data.load import copy_rows, create_table, generated
from workbench.timing import OneRow, pgbench
from workbench.training import Recipe, trained
from workbench.turns import in_turn

STATE = ROOT / ".bench" / "table-size"
PREFERRED_PORT = 54370
DATABASE = "table_size"
MODEL = "flights"
TREES = 25
ROWS = (100_000, 1_000_000, 10_000_000)
FLIGHTS = 100_000
SETTINGS = {"shared_buffers": "2GB"}

COLUMNS = ", ".join(FEATURES)
ASKED = {"predict": f"predict('{MODEL}', {COLUMNS})", "fetch": "distance"}


@dataclass(frozen=True)
class Run:
    """One run of pgbench."""

    requests_per_second: float
    # Of all of the server's processes, for a request.
    us: float


class Tables:
    """The feature tables in a throw-away cluster."""

    def __init__(self, cluster: Cluster, scripts: Path) -> None:
        self._cluster = cluster
        self._scripts = scripts

    def _connect(self) -> psycopg.Connection:
        return self._cluster.connect(DATABASE)

    def create(self, model: Path) -> None:
        """A database with the extension, the model, and the flights that the tables repeat."""
        self._cluster.create_database(DATABASE, replace=True)
        with self._connect() as connection:
            for extension in ("pgboost", "pg_prewarm", "pageinspect"):
                connection.execute(f"CREATE EXTENSION {extension}")
            connection.execute("SELECT load_model(%s, %s)", (MODEL, model.read_bytes()))
            create_table(connection)
            copy_rows(connection, generated(Request(FLIGHTS)), FLIGHTS)

    def fill(self, rows: int) -> dict[str, Any]:
        """Makes a table of so many rows, in memory, and says what it takes."""
        name = f"features_{rows}"
        began = time.monotonic()
        with self._connect() as connection:
            connection.execute(
                f"CREATE TABLE {name} AS SELECT row_number() OVER () AS id, {COLUMNS}"
                f" FROM generate_series(1, {-(-rows // FLIGHTS)}), flights LIMIT {rows}"
            )
            connection.execute(f"ALTER TABLE {name} ADD PRIMARY KEY (id)")
            connection.execute(f"VACUUM ANALYZE {name}")
            seconds = time.monotonic() - began
            connection.execute("SELECT pg_prewarm(%s), pg_prewarm(%s)", (name, f"{name}_pkey"))
            sizes = connection.execute(
                "SELECT pg_table_size(%s), pg_relation_size(%s), (bt_metap(%s)).level",
                (name, f"{name}_pkey", f"{name}_pkey"),
            ).fetchone()
        self._write_scripts(rows)
        return {
            "rows": rows, "load_seconds": seconds, "table_bytes": sizes[0], "index_bytes": sizes[1],
            "bytes_a_row": (sizes[0] + sizes[1]) / rows, "index_levels": sizes[2] + 1,
        }  # fmt: skip

    def _script(self, rows: int, asked: str) -> Path:
        return self._scripts / f"{asked}_{rows}.sql"

    def _write_scripts(self, rows: int) -> None:
        for asked, wanted in ASKED.items():
            self._script(rows, asked).write_text(
                f"\\set id random(1, {rows})\nSELECT {wanted} FROM features_{rows} WHERE id = :id;\n"
            )

    def _postmaster(self) -> int:
        return int((self._cluster.place.data / "postmaster.pid").read_text().split()[0])

    def run(self, rows: int, asked: str, how: OneRow) -> Run:
        """One run; an error where a request failed."""
        before = processes.cpu_seconds([self._postmaster()])
        report = pgbench(self._cluster, DATABASE, self._script(rows, asked), how)
        run = parse(report, processes.cpu_seconds([self._postmaster()]) - before)
        print(
            f"{rows:>12,} rows, {asked:8}{run.us:8.1f} us of the server's processor time",
            flush=True,
        )
        return run


def parse(output: str, cpu_seconds: float) -> Run:
    """What pgbench's report says, which must have no failed transaction in it."""
    done = number(r"^number of transactions actually processed: (\d+)", output)
    if number(r"^number of failed transactions: (\d+)", output) or not done:
        raise SystemExit(f"error: not a sound run of pgbench:\n{output}")
    return Run(number(r"^tps = ([\d.]+)", output), cpu_seconds * 1e6 / done)


def _spreads(runs: Sequence[Run]) -> dict[str, dict[str, float]]:
    return {
        name: asdict(Spread.of([getattr(run, name) for run in runs]))
        for name in ("requests_per_second", "us")
    }


def measure(sizes: Sequence[int], how: OneRow, repetitions: int) -> dict[str, Any]:
    """The whole result; the cluster is deleted after."""
    began = now()
    STATE.mkdir(parents=True, exist_ok=True)
    model = trained(Recipe(FLIGHTS, TREES), STATE, "model")[0].path
    stop(STATE, delete=True)
    cluster, _ = start(STATE, PREFERRED_PORT, SETTINGS)
    try:
        tables = Tables(cluster, STATE)
        tables.create(model)
        filled = [tables.fill(rows) for rows in sizes]
        subjects = {
            f"{rows} {asked}": partial(tables.run, rows, asked, how)
            for rows in sizes
            for asked in ASKED
        }
        runs = in_turn(subjects, repetitions)
        with cluster.connect() as connection:
            version = connection.execute("SHOW server_version").fetchone()[0]
    finally:
        stop(STATE, delete=True)
    answers = [
        {asked: _spreads(runs[f"{one['rows']} {asked}"]) for asked in ASKED} for one in filled
    ]
    return {
        "schema": 1, "started": began, "commit": commit(),
        "machine": machine.facts(), "versions": {"postgresql": version}, "settings": SETTINGS,
        "trees": TREES, "load": {**asdict(how), "repetitions": repetitions},
        "rows": [one | answered for one, answered in zip(filled, answers, strict=True)],
    }  # fmt: skip


def main() -> None:
    """Measures and writes the result."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=ROWS, help="of each table")
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--seconds", type=int, default=5, help="of a run")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--output", type=Path, default=ROOT / "bench" / "results")
    given = parser.parse_args()
    how = OneRow("prepared", given.clients, given.seconds)
    result = measure(given.rows, how, given.repetitions)
    name = f"{machine.short_name(result['machine'])}-table-size"
    path = results.new_directory(given.output, name) / "table-size.json"
    path.write_text(json.dumps(result, indent=1) + "\n")
    print(f"results in {path}")


if __name__ == "__main__":
    main()
