"""docker-compose.yml with a separate name, ports and password for the tests, next to the user's.

The images are built and everything is started once for the tests of it. They take an engine and twenty
minutes, so only `make test-compose` runs them. At the end all is taken down, and anything that is left is an
error.
"""

import json
import os
import secrets
import socket
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

REPOSITORY = Path(__file__).resolve().parents[3]
PROJECT = "pgboost-test"
FLIGHTS = 20_000
# The services that keep running; the loader ends.
STAYING = ("postgres", "pgbouncer", "redis", "service")
REPLICAS = ("standby1", "standby2", "readers")
SERVERS = ("POSTGRES", "PGBOUNCER", "SERVICE", "STANDBY1", "STANDBY2", "READERS")
PORTS = [f"{server}_PORT" for server in SERVERS]


class Failed(Exception):
    """A docker command that failed, with its output."""


def docker(*arguments: str, environment: Mapping[str, str] | None = None) -> str:
    """Runs docker and returns its output; raises if it fails."""
    done = subprocess.run(
        ["docker", *arguments], cwd=REPOSITORY, env=os.environ | dict(environment or {}),
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise Failed(f"docker {' '.join(arguments)}:\n{done.stdout}{done.stderr}")
    return done.stdout


def _free_ports(number: int) -> list[int]:
    probes = [socket.socket() for _ in range(number)]
    for probe in probes:
        probe.bind(("127.0.0.1", 0))
    ports = [probe.getsockname()[1] for probe in probes]
    for probe in probes:
        probe.close()
    return ports


@dataclass(frozen=True)
class Stack:
    """The project and the variables that docker-compose.yml is read with."""

    environment: Mapping[str, str]

    @classmethod
    def with_ca(cls, ca: Path) -> "Stack":
        """Returns a stack that trusts a further certificate while its images are built."""
        ports = zip(PORTS, map(str, _free_ports(len(PORTS))), strict=True)
        # Characters that are special in shells and configuration files must be passed unharmed.
        password = f"{secrets.token_hex(8)} '\"\\%"
        known = {"PGBOOST_PASSWORD": password, "FLIGHTS": str(FLIGHTS), "BUILD_CA": str(ca)}
        return cls({**known, **dict(ports)})

    @property
    def password(self) -> str:
        """The role's password."""
        return self.environment["PGBOOST_PASSWORD"]

    def port(self, name: str) -> int:
        """Returns the published port of that variable."""
        return int(self.environment[name])

    def compose(self, *arguments: str) -> str:
        """docker compose with this project."""
        return docker("compose", "-p", PROJECT, *arguments, environment=self.environment)

    def connect(self, port: str, password: str | None = None) -> psycopg.Connection:
        """A connection of the role flights through a published port."""
        conninfo = make_conninfo(
            host="127.0.0.1", port=self.port(port), dbname="flights", user="flights",
            password=password or self.password, connect_timeout=10,
        )  # fmt: skip
        # Prepared statements do not pass Debian's PgBouncer.
        return psycopg.connect(conninfo, autocommit=True, prepare_threshold=None)

    def inspect(self, service: str) -> dict[str, Any]:
        """Inspects a service's container."""
        container = self.compose("ps", "--all", "--quiet", service).strip()
        return json.loads(docker("inspect", container))[0]

    def images(self, *without: str) -> list[str]:
        """The names of every image that is built, except those of some services."""
        known = json.loads(self.compose("--profile", "*", "config", "--format", "json"))
        services = known["services"].items()
        return sorted({service["image"] for name, service in services if name not in without})

    def left(self) -> list[str]:
        """Containers, volumes and networks of the project."""
        chosen = ("--quiet", "--filter", f"label=com.docker.compose.project={PROJECT}")
        kinds = (("ps", "--all"), ("volume", "ls"), ("network", "ls"))
        return [line for kind in kinds for line in docker(*kind, *chosen).split()]


collect_ignore_glob = [] if os.environ.get("PGBOOST_COMPOSE") else ["test_*.py"]


@pytest.fixture(scope="session")
def ca(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate made here, followed by those that the build's network needs."""
    place = tmp_path_factory.mktemp("ca")
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj"]
    files = ["-keyout", str(place / "key.pem"), "-out", str(place / "ca.pem")]
    subprocess.run([*command, "/CN=pgboost-test", *files], check=True, capture_output=True)
    if given := os.environ.get("BUILD_CA"):
        with (place / "ca.pem").open("ab") as file:
            file.write(Path(given).read_bytes())
    return place / "ca.pem"


@pytest.fixture(scope="session")
def stack(ca: Path) -> Iterator[Stack]:
    """All containers, ready."""
    running = Stack.with_ca(ca)
    running.compose("--profile", "*", "down", "--volumes", "--remove-orphans")
    try:
        running.compose("--profile", "official", "build")
        running.compose("up", "--detach", "--wait")
        yield running
    finally:
        running.compose("--profile", "*", "down", "--volumes", "--remove-orphans")
    assert running.left() == []
