"""Which host has which role, and how far apart they are.

There are three roles: `server` (PostgreSQL, PgBouncer, Gunicorn), `store` (Redis) and
`client` (the load generators). `local` gives all to this machine, `split` each to a network
namespace of it, and a file of JSON each to a machine behind ssh. bench/topology.md describes them.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any, Protocol

from bench import echo
from bench.hosts import STATE, Host, LocalHost, Login, Process, SshHost
from bench.results import RoundTrip
from bench.results import Topology as Facts

ROLES = ("server", "store", "client")


class BadTopology(Exception):
    """A topology that cannot be had; the message says why."""


class Links(Protocol):
    """What lies between the hosts."""

    def set_delay(self, milliseconds: float | None) -> None:
        """One way, between any two hosts; None: as they are."""

    def processes(self) -> Sequence[Process]:
        """Those that carry the packets, where processes do."""

    def settings(self) -> dict[str, Any]:
        """What was set, for the record."""


class AsTheyAre:
    """Links that nobody has set."""

    def set_delay(self, milliseconds: float | None) -> None:
        """Refuses any delay."""
        if milliseconds is not None:
            raise BadTopology("a delay can be set in the topology split only")

    def processes(self) -> Sequence[Process]:
        """None."""
        return ()

    def settings(self) -> dict[str, Any]:
        """Nothing."""
        return {}


@dataclass(frozen=True)
class Topology:
    """The roles' hosts, all open."""

    name: str
    server: Host
    store: Host
    client: Host
    links: Links = field(default_factory=AsTheyAre)
    # Whom PostgreSQL lets in beside its own machine, in pg_hba.conf's words.
    network: str | None = None

    @property
    def roles(self) -> dict[str, Host]:
        """By name."""
        return {role: getattr(self, role) for role in ROLES}

    @property
    def hosts(self) -> list[Host]:
        """Each once."""
        return [*dict.fromkeys(self.roles.values())]

    def round_trips(self, delays: Sequence[float | None] = (None,)) -> list[RoundTrip]:
        """Measures between each pair of hosts, or on the one there is, with each delay."""
        pairs = [*combinations(reversed(self.hosts), 2)] or [(self.client, self.server)]
        found = []
        for delay in delays:
            self.links.set_delay(delay)
            found += [echo.round_trip(source, target, delay) for source, target in pairs]
        return found

    def facts(self, round_trips: list[RoundTrip]) -> Facts:
        """What goes into a result."""
        return Facts(
            name=self.name,
            roles={role: host.name for role, host in self.roles.items()},
            hosts={host.name: host.facts() for host in self.hosts},
            settings=self.links.settings(),
            round_trips=round_trips,
        )


def local(directory: Path = STATE) -> Topology:
    """All roles on this machine."""
    host = LocalHost(directory)
    return Topology("local", host, host, host)


@contextmanager
def _local(directory: Path) -> Iterator[Topology]:
    yield local(directory)


@contextmanager
def _split(directory: Path) -> Iterator[Topology]:
    # Needs root and Linux, unlike the other topologies.
    from bench.split import split  # noqa: PLC0415
    from bench.split.provision import provision  # noqa: PLC0415

    with split(directory) as topology:
        provision(topology.roles)
        yield topology


NAMED: dict[str, Callable[[Path], Any]] = {"local": _local, "split": _split}


def _ssh_host(name: str, known: dict[str, Any], directory: Path) -> SshHost:
    given = {**known}
    if given.pop("kind", None) != "ssh":
        raise BadTopology(f'host {name}: "kind" must be "ssh"')
    try:
        return SshHost(name, Login(**given), directory)
    except TypeError as error:
        raise BadTopology(f"host {name}: {error}") from None


def read(path: Path, directory: Path) -> Topology:
    """The topology of a file; its hosts are yet to be opened."""
    try:
        known = json.loads(path.read_text())
        hosts = {name: _ssh_host(name, host, directory) for name, host in known["hosts"].items()}
        roles = {role: hosts[known.get("roles", {}).get(role, role)] for role in ROLES}
        return Topology(known["name"], **roles, network="samenet")
    except (OSError, ValueError) as error:
        raise BadTopology(f"{path}: {error}") from error
    except (KeyError, AttributeError, TypeError) as error:
        raise BadTopology(f"{path}: it is no topology: {error!r}") from error


@contextmanager
def _read(path: Path, directory: Path) -> Iterator[Topology]:
    topology = read(path, directory)
    with ExitStack() as stack:
        for host in topology.hosts:
            stack.callback(host.close)
            host.open()
        yield topology


@contextmanager
def opened(name: str, directory: Path) -> Iterator[Topology]:
    """The topology of that name, or of the file of that name, until it is left."""
    named = NAMED.get(name)
    if named is None and not Path(name).is_file():
        raise BadTopology(f"no topology {name}: there are {', '.join(NAMED)}, or a file")
    with named(directory) if named else _read(Path(name), directory) as topology:
        yield topology
