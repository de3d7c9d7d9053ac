"""Topologies assign roles to hosts; see topology.md.

The roles are `server` (PostgreSQL, PgBouncer, services), `store` (Redis) and `client` (the load generators).
`local` runs all on this machine, `split` each in a network namespace of it (split.py), and a JSON file names
machines behind ssh.

A round trip is one byte there and back over TCP, between Python processes. It includes two wake-ups of a
waiting process, as every request does.
"""

import json
import socket
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

from bench.hosts import STATE, Host, Login, Process, local, over_ssh
from bench.results import RoundTrip
from bench.results import Topology as Facts

ROLES = ("server", "store", "client")
SAMPLES = 2_000
WARM_UP = 200


class BadTopology(Exception):
    """A topology that is invalid or cannot be created; the message says why."""


def serve(address: str) -> int:
    """Starts an echo server for one connection, and returns its port."""
    server = socket.create_server((address, 0))

    def echo() -> None:
        with server, server.accept()[0] as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while byte := connection.recv(1):
                connection.send(byte)

    threading.Thread(target=echo, daemon=True).start()
    return server.getsockname()[1]


def ask(address: str, port: int) -> list[float]:
    """Measures the round trip; returns the median and the 99th percentile, in microseconds."""
    with socket.create_connection((address, port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        found = []
        for _ in range(WARM_UP + SAMPLES):
            began = time.perf_counter_ns()
            connection.send(b"x")
            connection.recv(1)
            found.append((time.perf_counter_ns() - began) / 1e3)
    times = sorted(found[WARM_UP:])
    return [round(times[int(SAMPLES * part)], 1) for part in (0.5, 0.99)]


class Links:
    """The links between the hosts, which this class leaves unchanged."""

    def set_delay(self, milliseconds: float | None) -> None:
        """Sets the one-way delay between any two hosts; None for none."""
        if milliseconds is not None:
            raise BadTopology("a delay can be set in the topology split only")

    def processes(self) -> Sequence[Process]:
        """Returns the processes that carry the packets."""
        return ()

    def settings(self) -> dict[str, Any]:
        """Returns the links' settings, for the record."""
        return {}


@dataclass(frozen=True)
class Topology:
    """The hosts of the roles."""

    name: str
    server: Host
    store: Host
    client: Host
    links: Links = field(default_factory=Links)
    # Addresses that PostgreSQL accepts besides its machine's, as in pg_hba.conf.
    network: str | None = None

    @property
    def roles(self) -> dict[str, Host]:
        return {role: getattr(self, role) for role in ROLES}

    @property
    def hosts(self) -> list[Host]:
        """The distinct hosts."""
        return [*dict.fromkeys(self.roles.values())]

    def close(self) -> None:
        for host in self.hosts:
            host.close()

    def round_trips(self, delays: Sequence[float | None] = (None,)) -> list[RoundTrip]:
        """Measures round trips between each pair of hosts, or on the only one, with each delay."""
        pairs = [*combinations(reversed(self.hosts), 2)] or [(self.client, self.server)]
        found = []
        for delay in delays:
            self.links.set_delay(delay)
            for source, target in pairs:
                at = {"address": target.address}
                at["port"] = target.call(f"{__name__}:serve", **at)
                # In a separate process, because on one machine both roles have the same agent.
                times = source.call(f"{__name__}:ask", apart=True, **at)
                found.append(RoundTrip(source.name, target.name, "tcp", delay, *times, SAMPLES))
        return found

    def facts(self, round_trips: list[RoundTrip]) -> Facts:
        """Returns the topology's part of a result."""
        return Facts(
            name=self.name,
            roles={role: host.name for role, host in self.roles.items()},
            hosts={host.name: host.facts for host in self.hosts},
            settings=self.links.settings(),
            round_trips=round_trips,
        )


def on_this_machine(directory: Path = STATE) -> Topology:
    """Returns the topology with all roles on this machine."""
    host = local(directory)
    return Topology("local", host, host, host)


def _host(name: str, known: dict[str, Any], directory: Path) -> Host:
    if known.get("kind") != "ssh":
        raise BadTopology(f'host {name}: "kind" must be "ssh"')
    try:
        login = Login(**{key: value for key, value in known.items() if key != "kind"})
    except TypeError as error:
        raise BadTopology(f"host {name}: {error}") from None
    return over_ssh(name, login, directory)


def read(path: Path, directory: Path) -> Topology:
    try:
        known = json.loads(path.read_text())
        hosts = {name: _host(name, host, directory) for name, host in known["hosts"].items()}
        roles = {role: hosts[known.get("roles", {}).get(role, role)] for role in ROLES}
        return Topology(known["name"], **roles, network="samenet")
    except (OSError, ValueError) as error:
        raise BadTopology(f"{path}: {error}") from error
    except (KeyError, AttributeError, TypeError) as error:
        raise BadTopology(f"{path}: it is no topology: {error!r}") from error
