"""`python -m bench.table_size`: what a prediction costs as the feature table grows.

One feature table a size, with a bigint key, each of the same flights again and again; pgbench
asks, by prepared statement, for the prediction of a key drawn evenly from the whole table, and,
as the control, for one column of that row. Everything fits shared_buffers and is read into them
first: what is seen is the deeper index and the processor's caches, not a disk. Repetitions are
interleaved. Writes bench/results/<date>-<machine>-table-size/table-size.json, which
docs/benchmarks/scale.md is made from.
"""

import argparse
import datetime
import json
import random
import re
import subprocess
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import psycopg

from bench import machine, processes
from bench.results import Spread
from cluster import Cluster, start, stop
from cluster.server import bin_directory
from data.columns import FEATURES
from data.flights import Request
from data.load import copy_rows, create_table, generated
from workbench.training import Recipe, trained

ROOT = Path(__file__).resolve().parent.parent
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
class Load:
    """How often and how long pgbench asks."""

    clients: int
    seconds: int
    repetitions: int


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

    def run(self, rows: int, asked: str, load: Load, seed: int) -> Run:
        """One run; an error where a request failed."""
        command = [
            str(bin_directory() / "pgbench"), "--no-vacuum", "--protocol=prepared",
            f"--client={load.clients}", f"--time={load.seconds}", f"--random-seed={seed}",
            f"--file={self._script(rows, asked)}",
        ]  # fmt: skip
        before = processes.cpu_seconds([self._postmaster()])
        done = subprocess.run(
            command,
            env=self._cluster.environment(DATABASE),
            capture_output=True,
            text=True,
            check=True,
        )
        used = processes.cpu_seconds([self._postmaster()]) - before
        return parse(done.stdout, used)


def parse(output: str, cpu_seconds: float) -> Run:
    """What pgbench's report says, which must have no failed transaction in it."""
    failed = re.search(r"^number of failed transactions: (\d+)", output, re.MULTILINE)
    done = re.search(r"^number of transactions actually processed: (\d+)", output, re.MULTILINE)
    rate = re.search(r"^tps = ([\d.]+)", output, re.MULTILINE)
    if not (failed and done and rate) or int(failed[1]) or not int(done[1]):
        raise SystemExit(f"error: not a sound run of pgbench:\n{output}")
    return Run(float(rate[1]), cpu_seconds * 1e6 / int(done[1]))


def _measured(tables: Tables, sizes: Sequence[int], load: Load) -> dict[tuple[int, str], list[Run]]:
    """Every run, each size and question once a repetition, in an order drawn anew."""
    runs: dict[tuple[int, str], list[Run]] = {
        (rows, asked): [] for rows in sizes for asked in ASKED
    }
    for repetition in range(load.repetitions):
        order = list(runs)
        random.Random(repetition).shuffle(order)
        for rows, asked in order:
            run = tables.run(rows, asked, load, repetition + 1)
            runs[rows, asked].append(run)
            print(
                f"{rows:>12,} rows, {asked:8}{run.us:8.1f} us of the server's processor time a request",
                flush=True,
            )
    return runs


def _spreads(runs: Sequence[Run]) -> dict[str, dict[str, float]]:
    return {
        name: asdict(Spread.of([getattr(run, name) for run in runs]))
        for name in ("requests_per_second", "us")
    }


def measure(sizes: Sequence[int], load: Load) -> dict[str, Any]:
    """The whole result; the cluster is deleted after."""
    began = datetime.datetime.now(datetime.UTC)
    STATE.mkdir(parents=True, exist_ok=True)
    model = trained(Recipe(FLIGHTS, TREES), STATE, "model")[0].path
    stop(STATE, delete=True)
    cluster, _ = start(STATE, PREFERRED_PORT, SETTINGS)
    try:
        tables = Tables(cluster, STATE)
        tables.create(model)
        filled = [tables.fill(rows) for rows in sizes]
        runs = _measured(tables, sizes, load)
        with cluster.connect() as connection:
            version = connection.execute("SHOW server_version").fetchone()[0]
    finally:
        stop(STATE, delete=True)
    answers = [{asked: _spreads(runs[one["rows"], asked]) for asked in ASKED} for one in filled]
    commit = subprocess.run(
        ["git", "-C", str(ROOT), "rev-parse", "HEAD"], capture_output=True, text=True, check=False
    ).stdout.strip()
    return {
        "schema": 1, "started": began.isoformat(timespec="seconds"), "commit": commit,
        "machine": machine.facts(), "versions": {"postgresql": version}, "settings": SETTINGS,
        "trees": TREES, "load": asdict(load),
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
    load = Load(given.clients, given.seconds, given.repetitions)
    result = measure(given.rows, load)
    name = f"{result['started'][:10]}-{machine.short_name(result['machine'])}-table-size"
    directory = given.output / name
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "table-size.json").write_text(json.dumps(result, indent=1) + "\n")
    print(f"results in {directory / 'table-size.json'}")


if __name__ == "__main__":
    main()
