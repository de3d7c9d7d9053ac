"""What a prediction costs as the feature table grows.

pgbench asks, in one prepared statement, for the prediction of a key drawn evenly from the whole table, and,
as the control, for one column of that row. Everything fits shared_buffers and is read into them
first: what is seen is the deeper index and the processor's caches, not a disk. docs/benchmarks/scale.md is
made from it.
"""

import argparse
import tempfile
import time
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from bench import processes
from bench.generators import Load, pgbench
from bench.results import Spread
from bench.turns import in_turn
from speed.series import SMALL
from speed.site import PREPARATION, RECIPES, Site, prepared, running
from workbench.preparation import DATABASE
from workbench.queries import COLUMNS, predict
from workbench.tell import Teller, say

OPTIONS = {
    "rows": ((100_000, 1_000_000, 10_000_000), "of each table"),
    "clients": (4, "at a time"),
    "seconds": (5, "of a run"),
    "repetitions": (5, "of each"),
}
SETTINGS = {"shared_buffers": "2GB"}
ASKED = {"predict": predict("columns"), "fetch": "distance"}


def _fill(site: Site, rows: int) -> dict[str, Any]:
    """Makes a table of so many rows, in memory, and says what it takes."""
    name = f"features_{rows}"
    began = time.monotonic()
    with site.connect() as connection:
        for extension in ("pg_prewarm", "pageinspect"):
            connection.execute(f"CREATE EXTENSION IF NOT EXISTS {extension}")
        connection.execute(f"DROP TABLE IF EXISTS {name}")
        connection.execute(
            f"CREATE TABLE {name} AS SELECT row_number() OVER () AS id, {COLUMNS}"
            f" FROM generate_series(1, {rows} / (SELECT count(*) FROM flights) + 1), flights LIMIT {rows}"
        )
        connection.execute(f"ALTER TABLE {name} ADD PRIMARY KEY (id)")
        connection.execute(f"VACUUM ANALYZE {name}")
        seconds = time.monotonic() - began
        connection.execute("SELECT pg_prewarm(%s), pg_prewarm(%s)", (name, f"{name}_pkey"))
        table, index, levels = connection.execute(
            "SELECT pg_table_size(%s), pg_relation_size(%s), (bt_metap(%s)).level",
            (name, f"{name}_pkey", f"{name}_pkey"),
        ).fetchone()
    return {
        "rows": rows, "load_seconds": seconds, "table_bytes": table, "index_bytes": index,
        "bytes_a_row": (table + index) / rows, "index_levels": levels + 1,
    }  # fmt: skip


def _run(site: Site, script: Path, load: Load) -> tuple[float, float]:
    """Requests per second, and microseconds of all of the server's processes for one."""
    postmaster = int((site.cluster.place.data / "postmaster.pid").read_text().split()[0])
    before = processes.cpu_seconds([postmaster])
    figures = pgbench.run(site.cluster, DATABASE, script, "prepared", load)
    us = (processes.cpu_seconds([postmaster]) - before) * 1e6 / figures.requests
    say(f"{script.stem}: {us:.1f} us of the server's processor time")
    return figures.requests_per_second, us


def sizes(site: Site, given: argparse.Namespace) -> list[dict[str, Any]]:
    """What each table takes, and what a request to it does."""
    load, filled, measures = Load(given.clients, given.seconds, seed=0), [], {}
    with tempfile.TemporaryDirectory() as folder:
        for rows in given.rows:
            filled.append(_fill(site, rows))
            for asked, wanted in ASKED.items():
                script = Path(folder, f"{asked}_{rows}.sql")
                drawn = f"\\set id random(1, {rows})\n"
                script.write_text(f"{drawn}SELECT {wanted} FROM features_{rows} WHERE id = :id;\n")
                measures[rows, asked] = partial(_run, site, script, load)
        runs = in_turn(measures, given.repetitions)
    for one in filled:
        for asked in ASKED:
            spreads = [
                asdict(Spread.of([*column]))
                for column in zip(*runs[one["rows"], asked], strict=True)
            ]
            one[asked] = dict(zip(("requests_per_second", "us"), spreads, strict=True))
    return filled


def measure(given: argparse.Namespace) -> dict[str, Any]:
    """Fills all tables, measures, and drops them."""
    teller = Teller(PREPARATION + 1)
    with running(SETTINGS) as cluster:
        site = prepared(cluster, teller)
        versions = site.versions()
        with teller.step("tables of several sizes"):
            found = sizes(site, given)
        with site.connect() as connection:
            for rows in given.rows:
                connection.execute(f"DROP TABLE features_{rows}")
    load = {name: getattr(given, name) for name in ("clients", "seconds", "repetitions")}
    return {
        "versions": versions, "settings": SETTINGS, "trees": RECIPES[SMALL].rounds,
        "load": {"protocol": "prepared", **load}, "rows": found,
    }  # fmt: skip
