"""The common ground of a run against servers elsewhere: their model, and no process of theirs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import redis

from bench.attached.database import AttachedDatabase
from bench.attached.places import Login, Places
from bench.hosts import Parts, Process, Usage
from bench.results import Loading, RoundTrip
from bench.site import Site
from bench.topology import Topology
from data.flights import Request


class AttachedTopology(Topology):
    """Load generators here, and servers at addresses that are no hosts of the harness."""

    def round_trips(self, delays: Sequence[float | None] = (None,)) -> list[RoundTrip]:
        """None: there is nothing at the other end that would send an echo back."""
        return []


class AttachedCache:
    """The Redis of a service that was loaded by others."""

    def __init__(self, url: str) -> None:
        self._url = url

    def load(self, request: Request, serializer: str) -> list[Loading]:
        """Nothing: what it holds is seen when the answers are compared."""
        return []

    def roots(self, serializer: str) -> list[Process]:
        """None that could be seen."""
        return []

    def version(self) -> str:
        """The server's."""
        with redis.Redis.from_url(self._url) as client:
            return str(client.info("server")["redis_version"])

    def stop(self) -> None:
        """Nothing was started."""


@dataclass(frozen=True)
class AttachedSite(Site):
    """A site whose servers are at `places`; `login` leads to the database that is asked."""

    places: Places
    login: Login

    @cached_property
    def database(self) -> AttachedDatabase:
        """PostgreSQL, or PgBouncer before it."""
        return AttachedDatabase(self.login)

    @cached_property
    def feature_cache(self) -> AttachedCache:
        """Redis."""
        return AttachedCache(self.places.redis_url)

    def through_pgbouncer(self) -> "AttachedSite":
        """The same with PgBouncer's address for the database's."""
        return replace(self, login=self.places.pgbouncer)

    def model(self, trees: int) -> Path:
        """The database's own model, for which the number of trees was said."""
        path = self.directory / f"flights_{trees}.ubj"
        if not path.exists():
            path.write_bytes(self.database.model())
        return path

    def run_measured(
        self,
        command: Sequence[str | Path],
        servers: Parts,
        environment: dict[str, str] | None = None,
    ) -> tuple[str, Usage]:
        """What a load generator prints and used; what the servers used is not known."""
        output, usage = super().run_measured(command, {}, environment)
        return output, replace(usage, server=None)
