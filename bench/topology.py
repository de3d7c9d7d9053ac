"""Which host has which role, and how far apart they are.

There are three roles: `server` (PostgreSQL, PgBouncer, Gunicorn), `store` (Redis) and
`client` (the load generators). `local` gives all to this machine, `split` each to a network
namespace of it, and a file of JSON each to a machine behind ssh. bench/topology.md describes them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any, Protocol

from bench import echo
from bench.hosts import STATE, Host, LocalHost, Process
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
