"""A primary and hot standbys of it on one machine, each at a loopback address of its own, on one port.

PgBouncer takes several hosts for one database and opens its connections to them in turn. That is what
stands before them here, as it may before servers of their own machines.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from psycopg.conninfo import make_conninfo

from bench import pgbouncer
from bench.database import Database
from bench.hosts import Host, Process
from cluster import Cluster
from cluster.place import Place
from cluster.standby import follow, stop
from data.columns import COLUMNS, FEATURES, TARGET
from data.flights import Request

MODEL = "flights"
# Of the two versions, of which the later one is deployed.
ROUNDS = (10, 25)
STANDBYS = {"standby1": "127.0.0.2", "standby2": "127.0.0.3"}
CONNECTIONS = 12


def prediction(model: str = MODEL, columns: str = ", ".join(FEATURES)) -> str:
    """The expression of a prediction."""
    return f"predict('{model}', {columns})"


@dataclass(frozen=True)
class Servers:
    """All of them by the address they listen on, the primary first."""

    host: Host
    database: Database
    clusters: dict[str, Cluster]

    def conninfo(self, *addresses: str, **further: str) -> str:
        """What leads the role to one of these."""
        database = self.database
        return make_conninfo(
            host=",".join(addresses), port=database.at[1], dbname=database.name, user=database.role,
            password=database.password, connect_timeout=2, **further,
        )  # fmt: skip

    def process(self, address: str) -> Process:
        """The postmaster there, of which every backend is a child."""
        lines = (self.clusters[address].place.data / "postmaster.pid").read_text()
        return Process(self.host, int(lines.split()[0]))

    @contextmanager
    def through_pgbouncer(self, addresses: list[str]) -> Iterator[tuple[int, Process]]:
        """The port and the process of a PgBouncer before these."""
        port = self.host.free_port()
        settings = {
            "listen_addr": self.host.address, "listen_port": port, "unix_socket_dir": "",
            "auth_type": "scram-sha-256", "default_pool_size": CONNECTIONS,
        }  # fmt: skip
        place, hosts = f"pgbouncer-{len(addresses)}", ",".join(addresses)
        service, _ = pgbouncer.started(self.host, self.database, place, hosts, settings)
        service.ready(port)
        try:
            yield port, service
        finally:
            service.stop()


def _prepare(database: Database, rows: int) -> None:
    """The flights, two versions of a model, and a table to write to."""
    database.load(Request(rows, seed=2022))
    role, columns = database.role, ", ".join(COLUMNS)
    train = "SELECT train_model(%s, %s, %s, rounds => %s)"
    source = f"SELECT {columns} FROM flights"
    database.execute(
        ("CREATE EXTENSION pgboost_train", ()),
        (f"GRANT EXECUTE ON FUNCTION train_model, deploy_model TO {role}", ()),
        ("CREATE TABLE written (id integer PRIMARY KEY)", ()),
        (f"GRANT ALL ON written TO {role}", ()),
        (f"SET ROLE {role}", ()),
        *((train, (MODEL, source, TARGET, rounds)) for rounds in ROUNDS),
    )


@contextmanager
def started(host: Host, rows: int) -> Iterator[Servers]:
    """The primary with its data, and standbys that follow it; all are stopped at the end."""
    database = Database(host, host)
    with ExitStack() as stack:
        stack.callback(database.stop)
        _prepare(database, rows)
        primary = Cluster(Place(**database.start()))
        clusters = {host.address: primary}
        for name, address in STANDBYS.items():
            # The primary knows a standby by the name of its cluster.
            added = {"listen_addresses": address, "cluster_name": name, "max_connections": "200"}
            copy = follow(primary, Path(primary.place.home, name), added)
            stack.callback(stop, copy)
            clusters[address] = copy
        yield Servers(host, database, clusters)
