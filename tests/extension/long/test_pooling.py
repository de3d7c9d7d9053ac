"""Through PgBouncer, in each mode of pooling: no stale answer, and a revoke acts on the next statement.

PGBOUNCER names the program where it is not the one on the path; prepared statements need 1.21.
"""

import os
import re
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from tests.extension.lifecycle.models import constant, load
from tests.extension.lifecycle.test_stress import DEPLOYS, Deploys, deploy, read
from tests.times import TIMES
from tools.cluster import Cluster
from tools.cluster.paths import is_free

PROGRAM = os.environ.get("PGBOUNCER") or shutil.which("pgbouncer")
FIRST_WITH_PREPARED = (1, 21)
MODES = ("session", "transaction", "statement")
CLIENTS = 8
POOL = 4
REVOKES = 50 * TIMES
START_SECONDS = 20

Pooled = Callable[[str], psycopg.Connection]


def can_prepare() -> bool:
    report = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, check=True)
    return (
        tuple(map(int, re.search(r"(\d+)\.(\d+)", report.stdout).groups())) >= FIRST_WITH_PREPARED
    )


def configuration(cluster: Cluster, dbname: str, mode: str, port: int, users: Path) -> str:
    return "\n".join([
        "[databases]", f"{dbname} = host={cluster.host} port={cluster.port}", "[pgbouncer]",
        "listen_addr = 127.0.0.1", f"listen_port = {port}", "unix_socket_dir =", "auth_type = trust",
        f"auth_file = {users}", f"pool_mode = {mode}", "ignore_startup_parameters = extra_float_digits",
        # In session mode each client has its own server connection.
        f"default_pool_size = {POOL if mode != 'session' else 2 * CLIENTS}",
        *(["max_prepared_statements = 200"] if can_prepare() else []), "",
    ])  # fmt: skip


@pytest.fixture(params=MODES)
def pooled(cluster: Cluster, dbname: str, request: pytest.FixtureRequest) -> Iterator[Pooled]:
    """Opens connections through a separate PgBouncer in that mode."""
    assert PROGRAM, "no pgbouncer: apt-get install pgbouncer"
    place = cluster.place
    port = next(port for port in range(56432, 56532) if is_free(port))
    users, ini = Path(place.home, "users.txt"), Path(place.home, "pgbouncer.ini")
    users.write_text('"postgres" ""\n"pooled_reader" ""\n')
    ini.write_text(configuration(cluster, dbname, request.param, port, users))
    for path in (users, ini):
        path.chmod(0o644)
    owner = {"user": place.user, "group": place.user, "extra_groups": []} if place.user else {}
    log = Path(place.home, "pgbouncer.log").open("w")  # noqa: SIM115
    process = subprocess.Popen([PROGRAM, str(ini)], cwd="/", stdout=log, stderr=log, **owner)
    opened = []

    def connect(user: str) -> psycopg.Connection:
        until = time.monotonic() + START_SECONDS
        while True:
            try:
                prepare = 0 if can_prepare() and request.param != "statement" else None
                opened.append(
                    psycopg.connect(
                        host="127.0.0.1", port=port, dbname=dbname, user=user, autocommit=True,
                        prepare_threshold=prepare,
                    )
                )  # fmt: skip
                return opened[-1]
            except psycopg.OperationalError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.1)

    yield connect
    for connection in opened:
        connection.close()
    process.terminate()
    process.wait()
    log.close()


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
