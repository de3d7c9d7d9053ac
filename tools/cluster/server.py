"""Starts and stops throw-away clusters; never touches any other.

The superuser is postgres. The socket, which only the cluster's user and root can reach, trusts everyone. TCP
is on 127.0.0.1 unless another address and network are given, and requires a password, which no role has until
ALTER ROLE sets one. The data are expendable, so fsync is off.
"""

import os
import shlex
import shutil
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import psycopg
from psycopg import sql

from tools.cluster.paths import (
    ClusterError,
    Place,
    choose,
    forget,
    is_free,
    recorded,
    with_free_port,
)

DEFAULT_PG_CONFIG = "/usr/lib/postgresql/15/bin/pg_config"
SUPERUSER = "postgres"
START_SECONDS = 60
PORT_ATTEMPTS = 3

SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "shared_buffers": "512MB",
    "max_wal_size": "4GB",
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "max_connections": "100",
    "log_checkpoints": "off",
    # Autovacuum would disturb measurements, and no table changes after it is loaded.
    "autovacuum_naptime": "10min",
}


def installed(option: str) -> Path:
    """Returns a directory of the PostgreSQL that PG_CONFIG names, by pg_config's option."""
    pg_config = os.environ.get("PG_CONFIG", DEFAULT_PG_CONFIG)
    try:
        done = subprocess.run([pg_config, option], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise ClusterError(f"no working pg_config at {pg_config}: set PG_CONFIG") from error
    return Path(done.stdout.strip())


def bin_directory() -> Path:
    """Returns the directory of PostgreSQL's programs."""
    return installed("--bindir")


@dataclass(frozen=True)
class Cluster:
    """A running cluster."""

    place: Place

    @property
    def host(self) -> str:
        """The socket's directory, which libpq accepts as a host."""
        return str(self.place.sockets)

    @property
    def port(self) -> int:
        """The port, also part of the socket's name."""
        return self.place.port

    def conninfo(self, dbname: str = "postgres", user: str = SUPERUSER) -> str:
        """Returns a connection string over the socket."""
        return psycopg.conninfo.make_conninfo(
            host=self.host, port=self.port, dbname=dbname, user=user
        )

    def connect(
        self, dbname: str = "postgres", user: str = SUPERUSER, autocommit: bool = True
    ) -> psycopg.Connection:
        """Opens a connection."""
        return psycopg.connect(self.conninfo(dbname, user), autocommit=autocommit)

    def environment(self, dbname: str = "postgres", user: str = SUPERUSER) -> dict[str, str]:
        """Returns the environment for psql, pgbench and pg_dump to connect to the database."""
        libpq = {k: v for k, v in os.environ.items() if not k.startswith("PG")}
        return libpq | {
            "PGHOST": self.host, "PGPORT": str(self.port), "PGDATABASE": dbname, "PGUSER": user,
        }  # fmt: skip

    def create_database(
        self, name: str, replace: bool = False, template: str = "template0"
    ) -> bool:
        """Creates a database from the template, unless it exists; returns whether it did."""
        with self.connect() as connection:
            if replace:
                drop = sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)")
                connection.execute(drop.format(sql.Identifier(name)))
            query = "SELECT EXISTS (SELECT FROM pg_database WHERE datname = %s)"
            if connection.execute(query, (name,)).fetchone() == (True,):
                return False
            create = sql.SQL("CREATE DATABASE {} TEMPLATE {} ENCODING 'UTF8'")
            connection.execute(create.format(sql.Identifier(name), sql.Identifier(template)))
            return True


def _initialise(place: Place) -> None:
    place.run(
        bin_directory() / "initdb", "--pgdata", place.data, "--username", SUPERUSER,
        "--auth-local=trust", "--auth-host=scram-sha-256", "--encoding=UTF8", "--locale=C.UTF-8",
        "--no-sync",
    )  # fmt: skip
    place.run("mkdir", "-p", "-m", "700", place.sockets)


def _allow(place: Place, network: str) -> None:
    """Lets every role log in with a password from the network, as in pg_hba.conf."""
    rules = place.data / "pg_hba.conf"
    line = f"host all all {network} scram-sha-256\n"
    if line not in rules.read_text():
        with rules.open("a") as file:
            file.write(line)


def _options(place: Place, added: Mapping[str, str]) -> str:
    places = {"port": str(place.port), "unix_socket_directories": str(place.sockets)}
    settings = SETTINGS | places | dict(added)
    # pg_ctl passes this to a shell, and the repository's path may contain a blank.
    return " ".join(f"-c {shlex.quote(f'{name}={value}')}" for name, value in settings.items())


def _running(place: Place) -> bool:
    if not (place.data / "PG_VERSION").exists():
        return False
    status = place.run(bin_directory() / "pg_ctl", "status", "-D", place.data, check=False)
    return status.returncode == 0


def launch(place: Place, added: Mapping[str, str]) -> None:
    """Starts the server of a place that has a data directory."""
    started = place.run(
        bin_directory() / "pg_ctl", "start", "-D", place.data, "-l", place.log,
        "-o", _options(place, added), "-w", "-t", str(START_SECONDS), check=False,
    )  # fmt: skip
    if started.returncode != 0:
        lines = place.log.read_text(errors="replace").splitlines() if place.log.exists() else []
        raise ClusterError("the server did not start:\n" + "\n".join(lines[-10:]))


def _launch_on_free_port(
    state: Path, place: Place, added: Mapping[str, str], attempts: int = PORT_ATTEMPTS
) -> Place:
    """Starts the server; retries on another port if a program took the free one meanwhile."""
    moved = with_free_port(state, place)
    try:
        launch(moved, added)
    except ClusterError:
        if attempts == 1 or is_free(moved.port):
            raise
        return _launch_on_free_port(state, moved, added, attempts - 1)
    return moved


def _wait_until_ready(cluster: Cluster) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            cluster.connect().close()
            return
        except psycopg.OperationalError as error:
            if time.monotonic() > deadline:
                raise ClusterError(f"the server does not answer: {error}") from error
            time.sleep(0.1)


def start(
    state: Path,
    preferred_port: int,
    added: Mapping[str, str] | None = None,
    network: str | None = None,
) -> tuple[Cluster, bool]:
    """Starts the cluster of the directory `state`; returns it, and whether it had to be started.

    `added` settings override those of every throw-away cluster, and `network` may log in; a running cluster
    keeps those that it was started with.
    """
    place = choose(state.resolve(), preferred_port)
    cluster = Cluster(place)
    if _running(place):
        _wait_until_ready(cluster)
        return cluster, False
    if not (place.data / "PG_VERSION").exists():
        _initialise(place)
    if network:
        _allow(place, network)
    cluster = Cluster(_launch_on_free_port(state.resolve(), place, added or {}))
    _wait_until_ready(cluster)
    return cluster, True


def stop(state: Path, delete: bool = False) -> bool:
    """Stops the cluster, immediately if it is deleted; returns whether it was running."""
    state = state.resolve()
    place = recorded(state)
    if place is None:
        return False
    running = _running(place)
    if running:
        mode = "immediate" if delete else "fast"
        place.run(bin_directory() / "pg_ctl", "stop", "-D", place.data, "-m", mode, "-w")
    if delete:
        forget(state, place)
    return running


def follow(primary: Cluster, home: Path, added: Mapping[str, str], *options: str) -> Cluster:
    """Copies the primary by pg_basebackup, and starts the copy, a hot standby, which the caller has to stop.

    It uses the primary's port at another address, or at none, with its files in a separate directory.
    """
    place = primary.place
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(mode=0o700)
    if place.user:
        shutil.chown(home, place.user, place.user)
    copy = Cluster(replace(place, home=str(home)))
    copy.place.run("mkdir", "-m", "700", copy.place.sockets)
    copy.place.run(
        bin_directory() / "pg_basebackup", "-D", copy.place.data, "-R", "-c", "fast", "--no-sync",
        "-d", primary.conninfo(), *options,
    )  # fmt: skip
    launch(copy.place, {"hot_standby": "on", **added})
    return copy


def promote(standby: Cluster) -> None:
    """Promotes a standby, and waits until it is a primary."""
    standby.place.run(bin_directory() / "pg_ctl", "promote", "-D", standby.place.data, "-w")


def stop_server(server: Cluster, mode: str = "fast") -> None:
    """Stops a server, such as a standby, if it runs; its files stay."""
    server.place.run(
        bin_directory() / "pg_ctl", "stop", "-D", server.place.data, "-m", mode, "-w", check=False
    )
