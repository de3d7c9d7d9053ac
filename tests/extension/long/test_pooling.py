"""Through PgBouncer, in each mode of pooling: no stale answer, and a revoke acts on the next statement."""

import threading
from collections.abc import Callable, Iterator

import psycopg
import pytest

from tests.extension.lifecycle.models import constant, load
from tests.extension.lifecycle.test_writers import DEPLOYS, Deploys, deploy, read
from tests.extension.long.pooler import Pooler
from tests.state import TIMES
from tools.cluster import Cluster

MODES = ("session", "transaction", "statement")
CLIENTS = 8
POOL = 4
REVOKES = 50 * TIMES

Pooled = Callable[[str], psycopg.Connection]


@pytest.fixture(params=MODES)
def pooled(cluster: Cluster, dbname: str, request: pytest.FixtureRequest) -> Iterator[Pooled]:
    """Opens connections through a separate PgBouncer in that mode."""
    # In session mode each client has its own server connection.
    pool = POOL if request.param != "session" else 2 * CLIENTS
    pooler = Pooler(
        cluster, dbname, ("postgres", "pooled_reader"), request.param, {"default_pool_size": pool}
    )
    yield pooler.connect
    pooler.stop()


@pytest.fixture(scope="module", autouse=True)
def models(cluster: Cluster, dbname: str) -> None:
    """Two versions, and a role that may be given the right."""
    with cluster.connect(dbname) as connection:
        load(connection, "m", constant(1))
        load(connection, "m", constant(2))
        connection.execute("DROP ROLE IF EXISTS pooled_reader")
        connection.execute("CREATE ROLE pooled_reader LOGIN")


@pytest.mark.usefixtures("internal_errors")
def test_no_answer_is_stale(cluster: Cluster, dbname: str, pooled: Pooled) -> None:
    with cluster.connect(dbname) as writer:
        writer.execute("SELECT deploy_model('m@1')")
        deploys = Deploys()
        threads = [threading.Thread(target=deploy, args=(writer, deploys))]
        query = "SELECT predict('m', 1)"
        for _ in range(CLIENTS):
            reader = pooled("postgres")
            threads.append(threading.Thread(target=read, args=(reader, query, deploys)))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert deploys.acknowledged == DEPLOYS
    assert not deploys.failures, deploys.failures[:5]
    assert deploys.strict >= DEPLOYS


@pytest.mark.usefixtures("internal_errors")
def test_a_revoke_acts_on_every_pooled_connection(
    cluster: Cluster, dbname: str, pooled: Pooled
) -> None:
    readers = [pooled("pooled_reader") for _ in range(CLIENTS)]
    with cluster.connect(dbname) as owner:
        for _ in range(REVOKES):
            owner.execute("SELECT grant_model('m', 'pooled_reader')")
            for reader in readers:
                assert reader.execute("SELECT predict('m', 1)").fetchone()[0] in (1, 2)
            owner.execute("SELECT revoke_model('m', 'pooled_reader')")
            for reader in readers:
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    reader.execute("SELECT predict('m', 1)")


def test_exported_functions_answer(cluster: Cluster, dbname: str, pooled: Pooled) -> None:
    """They keep nothing in the session that another client's transaction could miss."""
    with cluster.connect(dbname) as writer:
        (script,) = writer.execute("SELECT export_model_sql('m@2', 'plain')").fetchone()
        writer.execute(script)
    for connection in [pooled("pooled_reader") for _ in range(CLIENTS)]:
        for query in ("SELECT plain(1)", "SELECT plain_scan(1)"):
            assert connection.execute(query).fetchone() == (2,)
        query = "SELECT prediction FROM plain_rows('SELECT 1 AS id, 1 AS f1')"
        assert connection.execute(query).fetchone() == (2,)
