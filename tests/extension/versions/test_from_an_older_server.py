"""Models move to a newer major version: by pg_upgrade, copying and linking, and by a dump.

run.sh names the older server's pg_config in PGBOOST_OLD_PG_CONFIG; it has pgboost too.
All columns of Debian's 15.20 and 17.12 have an option (pg_attver) that 18.6 refuses: no table is upgraded.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tools.cluster import Cluster, start, stop
from tools.cluster.paths import Place, choose
from tools.cluster.server import bin_directory

OLD = os.environ.get("PGBOOST_OLD_PG_CONFIG", "")
MODELS = Path(__file__).resolve().parents[1] / "sql" / "models"
# Two versions that answer otherwise, of which the first is deployed.
VERSIONS = ("price.ubj", "price_doubled.json")
PREDICTIONS = (
    "SELECT predict('price', 60, 4, 1), predict('price@1', 60, 4, 1), predict('price@2', 60, 4, 1)"
)
FACTS = (
    "SELECT m.*, model_info(name || '@' || version) - 'owner' FROM pgboost_models AS m ORDER BY version",
    "SELECT encode(sha256(export_model('price@' || v)), 'hex') FROM generate_series(1, 2) AS v",
    "SELECT * FROM pgboost_aliases",
    "SELECT model, role::text, privilege FROM pgboost_catalog.privilege ORDER BY role::text",
    "SELECT price FROM scored",
    "SELECT of_price(60, 4, 1)",
    PREDICTIONS,
)

pytestmark = pytest.mark.skipif(not OLD, reason="PGBOOST_OLD_PG_CONFIG names no older server")


@contextmanager
def server_of(pg_config: str) -> Iterator[None]:
    """Starts and stops clusters of that server within the context."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PG_CONFIG", pg_config)
        yield


@pytest.fixture
def old(tmp_path: Path) -> Iterator[Cluster]:
    """A running older server whose database `postgres` has two versions of a model and a table."""
    state = tmp_path / "old"
    with server_of(OLD):
        running, _ = start(state, 54337)
    with running.connect() as connection:
        connection.execute("CREATE EXTENSION pgboost")
        for version in VERSIONS:
            content = (MODELS / version).read_bytes()
            connection.execute("SELECT load_model('price', %b)", (content,))
        connection.execute("SELECT deploy_model('price@1'), set_alias('price@2', 'next')")
        connection.execute("SELECT grant_model('price', 'public')")
        connection.execute("SELECT create_predict_function('price', 'of_price')")
        connection.execute("CREATE VIEW scored AS SELECT predict('price', 60, 4, 1) AS price")
    yield running
    with server_of(OLD):
        stop(state, delete=True)


def facts(cluster: Cluster, dbname: str = "postgres") -> list[list[tuple]]:
    """The registry's rows of the models of a database, and their predictions."""
    with cluster.connect(dbname) as connection:
        found = [connection.execute(query).fetchall() for query in FACTS]
    first, deployed, second = found[-1][0]
    assert first == deployed != second
    return found


def new_cluster(state: Path) -> Place:
    """An empty cluster of the newer server, with the settings of the older one."""
    place = choose(state, 54338)
    sums = ["--no-data-checksums"] if "--no-data-checksums" in _help() else []
    place.run(
        bin_directory() / "initdb", "--pgdata", place.data, "--username=postgres", "--auth-local=trust",
        "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync", *sums,
    )  # fmt: skip
    place.run("mkdir", "-p", "-m", "700", place.sockets)
    return place


def _help() -> str:
    return Place("/", 0, None).run(bin_directory() / "initdb", "--help").stdout


def refuses_tables(old: Cluster) -> bool:
    """Returns whether the newer server refuses an option that the older one keeps at every column."""
    version = Place("/", 0, None).run(bin_directory() / "postgres", "--version").stdout
    query = "SELECT bool_or(attoptions::text LIKE '%pg_attver%') FROM pg_attribute"
    with old.connect() as connection:
        return " 18.6" in version and connection.execute(query).fetchone() == (True,)


@pytest.mark.parametrize("way", ["--copy", "--link"])
def test_pg_upgrade_keeps_the_models(old: Cluster, tmp_path: Path, way: str) -> None:
    if refuses_tables(old):
        pytest.skip("18.6 refuses an option (pg_attver) that columns of the older server have")
    before = facts(old)
    with server_of(OLD):
        old_programs = bin_directory()
        stop(tmp_path / "old")
    state = tmp_path / "new"
    place = new_cluster(state)
    place.run(
        "env", "-C", place.home, bin_directory() / "pg_upgrade", way, "--username=postgres",
        "--old-bindir", old_programs, "--new-bindir", bin_directory(),
        "--old-datadir", old.place.data, "--new-datadir", place.data, "--socketdir", place.sockets,
    )  # fmt: skip
    try:
        running, _ = start(state, place.port)
        assert facts(running) == before
    finally:
        stop(state, delete=True)


def test_a_dump_brings_the_models(old: Cluster, cluster: Cluster, tmp_path: Path) -> None:
    cluster.create_database("restored", replace=True)
    dump = Path(old.place.home) / "dump"
    old.place.run(
        bin_directory() / "pg_dump", "--format=custom", "--file", dump,
        old.conninfo(),
    )  # fmt: skip
    old.place.run(
        bin_directory() / "pg_restore",
        "--exit-on-error",
        "--dbname",
        cluster.conninfo("restored"),
        dump,
    )
    assert facts(cluster, "restored") == facts(old)
