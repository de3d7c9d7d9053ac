"""The steps up to the first prediction; each is skipped if it is already done."""

import hashlib
from pathlib import Path

import psycopg

from data.flights import Request
from data.load import copy_rows, create_table, finish_table, generated
from tools.cluster import Cluster, start
from tools.cluster.server import installed
from tools.workbench.console import Teller, say
from tools.workbench.queries import MODEL
from tools.workbench.training import Recipe, Trained, trained

STATE = Path(__file__).resolve().parents[2] / ".demo"
PREFERRED_PORT = 54329
DATABASE = "demo"
DONE = "already done"


def start_cluster(
    teller: Teller, state: Path = STATE, preferred_port: int = PREFERRED_PORT
) -> Cluster:
    """Starts the PostgreSQL of a state directory, by default the demo's."""
    with teller.step("start a separate PostgreSQL cluster"):
        cluster, started = start(state, preferred_port)
        place = cluster.place
        say(f"{'started' if started else DONE + ': running'} on 127.0.0.1, port {place.port}")
        say(f"files in {place.home}" + (f", run by user {place.user}" if place.user else ""))
        if not Path(place.home).is_relative_to(state):
            say("(outside the repository: that user cannot enter it, or its path is too long)")
    return cluster


def _installed_scripts() -> str:
    """Returns a digest of the extension's installed SQL, which detects another build."""
    digest = hashlib.sha256()
    for script in sorted((installed("--sharedir") / "extension").glob("pgboost--*.sql")):
        digest.update(script.read_bytes())
    return digest.hexdigest()


def create_extension(teller: Teller, cluster: Cluster, state: Path = STATE) -> psycopg.Connection:
    """Creates the database and the extension, and recreates the latter if another build is installed."""
    record = state / "extension.sha256"
    with teller.step("CREATE DATABASE demo; CREATE EXTENSION pgboost"):
        cluster.create_database(DATABASE)
        connection = cluster.connect(DATABASE)
        known = connection.execute(
            "SELECT extversion FROM pg_extension WHERE extname = 'pgboost'"
        ).fetchone()
        digest = _installed_scripts()
        if known and record.exists() and record.read_text() == digest:
            say(f"{DONE}: pgboost {known[0]}")
            return connection
        if known:
            say("another build was installed since: creating the extension again")
            connection.execute("DROP EXTENSION pgboost CASCADE")
        connection.execute("CREATE EXTENSION pgboost")
        record.write_text(digest)
        say("created")
    return connection


def load_flights(teller: Teller, connection: psycopg.Connection, request: Request) -> None:
    """Fills the table flights by COPY."""
    wanted = f"{request.rows} flights of seed {request.seed}"
    with teller.step(f"load {request.rows:,} flights by COPY"):
        exists = "SELECT obj_description(to_regclass('flights'))"
        if connection.execute(exists).fetchone() == (wanted,):
            say(DONE)
            return
        with connection.transaction():
            connection.execute("DROP TABLE IF EXISTS flights")
            create_table(connection)
            copy_rows(connection, generated(request), request.rows)
        say("building the index, VACUUM ANALYZE")
        finish_table(connection)
        # Written last, so that it implies a complete table.
        connection.execute(f"COMMENT ON TABLE flights IS '{wanted}'")
        size = connection.execute("SELECT pg_size_pretty(pg_table_size('flights'))").fetchone()
        say(f"{request.rows:,} rows, {size[0]}")


def train(teller: Teller, recipe: Recipe, name: str = MODEL, state: Path = STATE) -> Trained:
    """Trains in Python, outside the database."""
    title = f"train {recipe.rounds} trees of depth {recipe.depth} with XGBoost {recipe.xgboost}"
    with teller.step(f"{title} in Python"):
        model, new = trained(recipe, state, name)
        if not new:
            say(DONE)
        gain = 1.0 - (model.rmse / model.rmse_of_mean) ** 2
        say(f"error on flights it has not seen: {model.rmse:.2f} minutes (root mean square);")
        say(f"always predicting the mean: {model.rmse_of_mean:.2f}. It explains {gain:.0%}")
        say(f"saved as {model.path.relative_to(state.parent)}, {model.path.stat().st_size:,} bytes")
    return model


def _is_loaded(connection: psycopg.Connection, name: str, content: bytes) -> bool:
    known = connection.execute(
        "SELECT EXISTS (SELECT FROM pgboost_models WHERE name = %s)", (name,)
    )
    if known.fetchone() == (False,):
        return False
    exported = connection.execute("SELECT sha256(export_model(%s))", (name,)).fetchone()
    return exported == (hashlib.sha256(content).digest(),)


def load_unless_loaded(connection: psycopg.Connection, model: Trained, name: str) -> int | None:
    """Loads the model's file and returns its version; None if the database has these bytes already."""
    content = model.path.read_bytes()
    if _is_loaded(connection, name, content):
        return None
    return connection.execute("SELECT load_model(%s, %s)", (name, content)).fetchone()[0]


def load_model(teller: Teller, connection: psycopg.Connection, model: Trained) -> None:
    """Loads the file into the database."""
    with teller.step(f"SELECT load_model('{MODEL}', <the bytes of {model.path.name}>)"):
        version = load_unless_loaded(connection, model, MODEL)
        say(DONE if version is None else f"version {version}")
