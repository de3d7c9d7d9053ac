"""The measured cluster: a million flights, a small model and a large one.

The cluster's files stay in .speed, so that the next run need not load them again; the server is
stopped at the end. Its settings are PostgreSQL's defaults except for those of every throw-away cluster.
"""

import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

from bench.inside.series import LARGE, SMALL
from data.columns import FEATURES, LOOKED_UP
from data.flights import Request
from tools.cluster import Cluster, start, stop
from tools.workbench import preparation
from tools.workbench.console import Teller, say
from tools.workbench.preparation import DATABASE
from tools.workbench.queries import CONTROL, predict
from tools.workbench.training import Recipe

# Steps of `prepared`.
PREPARATION = 5

STATE = Path(__file__).resolve().parents[2] / ".speed"
PREFERRED_PORT = 54332
ROWS = 1_000_000
# The models' names in SQL by label; sql/predict.sql uses the first.
NAMES = {SMALL: "flights", LARGE: "flights_large"}
RECIPES = {
    SMALL: Recipe(ROWS, rounds=25),
    LARGE: Recipe(200_000, rounds=500, depth=8),
}
# One flight of the table, by the index, as in the benchmark's query.
ONE = (
    "FROM flights f WHERE " + " AND ".join(f"{k} = {v}" for k, v in LOOKED_UP.items()) + " LIMIT 1"
)
CONSTANTS = ", ".join(f"{LOOKED_UP.get(name, 1)}::real" for name in FEATURES)
# The prediction for a row f of flights, its columns as arguments, and the control.
COLUMNS = {label: predict("columns", name) for label, name in NAMES.items()}
EXPRESSIONS = {"control": CONTROL, **COLUMNS}
SHOWN = ("jit", "shared_buffers", "work_mem", "max_parallel_workers", "effective_cache_size")

Measure = Callable[[], float]


@dataclass(frozen=True)
class Site:
    """A cluster with flights and models."""

    cluster: Cluster
    files: dict[str, Path]

    def connect(self) -> psycopg.Connection:
        """Opens a connection in autocommit mode."""
        return self.cluster.connect(DATABASE)

    def facts(self) -> dict[str, Any]:
        """Returns the versions, settings (in SHOWN, or not PostgreSQL's defaults) and models."""
        settings = """
            SELECT name, current_setting(name) FROM pg_settings
            WHERE name = ANY(%s) OR (source = 'command line'
                AND category !~ 'Connections|Locale|Reporting|Preset|File')
            ORDER BY name
        """
        release = [sys.executable, "-m", "python_baseline.releases"]
        pinned = subprocess.run(release, capture_output=True, text=True, check=True).stdout.strip()
        with self.connect() as connection:
            extension = "SELECT extversion FROM pg_extension WHERE extname = 'pgboost'"
            (version,) = connection.execute(extension).fetchone()
            (server,) = connection.execute("SHOW server_version").fetchone()
            known = dict(connection.execute(settings, ([*SHOWN],)).fetchall())
        models = {
            label: {
                "trees": RECIPES[label].rounds, "depth": RECIPES[label].depth,
                "file_bytes": path.stat().st_size, "image_bytes": self._image(label),
            }
            for label, path in self.files.items()
        }  # fmt: skip
        versions = {"postgresql": server, "pgboost": version, "xgboost": pinned}
        return {"versions": versions, "settings": known, "models": models}

    def _image(self, label: str) -> int:
        """Returns the size of a model's image, as mapped by a backend that used no other model."""
        with self.connect() as connection:
            connection.execute(f"SELECT {on_constants(label)}")
            maps = Path(f"/proc/{connection.info.backend_pid}/maps").read_text()
        ((begin, end),) = re.findall(r"^(\w+)-(\w+) .*\.image$", maps, re.MULTILINE)
        return int(end, 16) - int(begin, 16)


def on_constants(label: str) -> str:
    """Returns the prediction for a flight of constants."""
    return f"predict('{NAMES[label]}', {CONSTANTS})"


def seconds(connection: psycopg.Connection, statement: str) -> float:
    """Measures the seconds of an unprepared statement until its last row has arrived."""
    began = time.perf_counter()
    cursor = connection.execute(statement, prepare=False)
    if cursor.description:
        cursor.fetchall()
    return time.perf_counter() - began


def set_(connection: psycopg.Connection, settings: Mapping[str, object]) -> None:
    """Changes settings of the session."""
    for name, value in settings.items():
        connection.execute("SELECT set_config(%s, %s, false)", (name, str(value)))


@contextmanager
def running(settings: Mapping[str, str] | None = None) -> Iterator[Cluster]:
    """Starts the server with these settings, and stops it afterwards."""
    # A running one has other settings, or was left by a killed run.
    stop(STATE)
    try:
        yield start(STATE, PREFERRED_PORT, settings or {})[0]
    finally:
        stop(STATE)


def prepared(cluster: Cluster, teller: Teller) -> Site:
    """Prepares the site, by the demo's steps."""
    with preparation.create_extension(teller, cluster, STATE) as connection:
        preparation.load_flights(teller, connection, Request(ROWS))
        models = {
            label: preparation.train(teller, recipe, NAMES[label], STATE)
            for label, recipe in RECIPES.items()
        }
        with teller.step("load both models"):
            for label, model in models.items():
                new = preparation.load_unless_loaded(connection, model, NAMES[label])
                say(f"{label}: {preparation.DONE if new is None else f'version {new}'}")
    return Site(cluster, {label: model.path for label, model in models.items()})
