"""Which host has which role, and how far apart they are: topology.md describes them.

There are three roles: `server` (PostgreSQL, PgBouncer, services), `store` (Redis) and `client` (the load
generators). `local` gives all to this machine, `split` each to a network namespace of it (opening.py), and a
file of JSON each to a machine behind ssh.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from bench import echo
from bench.hosts import Host, Process
from bench.results import RoundTrip
from bench.results import Topology as Facts

ROLES = ("server", "store", "client")


class BadTopology(Exception):
    """A topology that cannot be had; the message says why."""


class Links:
    """What lies between the hosts; these are as they are."""

    def set_delay(self, milliseconds: float | None) -> None:
        """One way, between any two hosts; None: as they are."""
        if milliseconds is not None:
            raise BadTopology("a delay can be set in the topology split only")

    def processes(self) -> Sequence[Process]:
        """Those that carry the packets, where processes do."""
        return ()

    def settings(self) -> dict[str, Any]:
        """What was set, for the record."""
        return {}


@dataclass(frozen=True)
class Topology:
    """The roles' hosts."""

    name: str
    server: Host
    store: Host
    client: Host
    links: Links = field(default_factory=Links)
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

    def close(self) -> None:
        """Ends whatever was started on them."""
        for host in self.hosts:
            host.close()

    def round_trips(self, delays: Sequence[float | None] = (None,)) -> list[RoundTrip]:
        """Measures between each pair of hosts, or on the one there is, with each delay."""
        pairs = [*combinations(reversed(self.hosts), 2)] or [(self.client, self.server)]
        found = []
        for delay in delays:
            self.links.set_delay(delay)
            for source, target in pairs:
                port = target.call("bench.echo:serve", address=target.address)
                # In a process of its own, for on one machine both have one agent.
                times = source.call("bench.echo:ask", apart=True, address=target.address, port=port)
                found.append(
                    RoundTrip(source.name, target.name, "tcp", delay, *times, echo.SAMPLES)
                )
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
