"""The systems that can be attached to: bench.systems' own, less their starting and stopping."""

import os
import re
from functools import cached_property, partial
from importlib.metadata import version
from typing import Any

import psycopg

from bench.attached.site import AttachedSite
from bench.hosts import CommandFailed, Parts
from bench.systems import Systems
from bench.systems.postgres import Direct, ThroughPgbouncer
from bench.systems.python import ENTRIES, PACKAGES, Microservice, write_bodies
from python_baseline import modes
from python_baseline.settings import PREFIX, Settings

# What of PgBouncer's configuration a result shows.
SHOWN = ("pool_mode", "default_pool_size", "max_client_conn", "auth_type")


class AttachedPgbouncer(ThroughPgbouncer):
    """PgBouncer, which says itself what it is: the role must be one of its stats_users."""

    def __init__(self, site: AttachedSite) -> None:
        super().__init__(site.through_pgbouncer())
        self._login = site.places.pgbouncer

    def _show(self, what: str) -> list[tuple[Any, ...]]:
        """What its console answers, which knows the simple protocol only."""
        try:
            with psycopg.connect(
                self._login.conninfo("pgbouncer"),
                autocommit=True,
                cursor_factory=psycopg.ClientCursor,
            ) as connection:
                return connection.execute(f"SHOW {what}").fetchall()
        except psycopg.Error as error:
            raise CommandFailed(f"PgBouncer: {error}") from error

    @cached_property
    def _version(self) -> str:
        return re.search(r"PgBouncer ([0-9.]+)", self._show("VERSION")[0][0])[1]

    def start(self, trees: int) -> None:
        """Loads the model and writes the scripts, as without PgBouncer."""
        Direct.start(self, trees)

    @property
    def _port(self) -> int:
        return self._site.database.port

    def _parts(self) -> Parts:
        return {}

    def stop(self) -> None:
        """Removes the model, where this loaded it."""
        self._site.database.stop()

    def configuration(self) -> dict[str, Any]:
        """PgBouncer's settings beside the server's."""
        known = {row[0]: row[1] for row in self._show("CONFIG")}
        return {**Direct.configuration(self), "pgbouncer": {name: known[name] for name in SHOWN}}


class AttachedMicroservice(Microservice):
    """The tuned service, with the packages and the settings that this process has too."""

    def install(self) -> dict[str, str]:
        """The versions of the packages and of Redis; nothing is asked for at a rate, so no oha."""
        versions = {name: version(name) for name in PACKAGES}
        versions[f"xgboost of the service, {self._entry.xgboost}"] = self._site.client.run(
            [self._site.client.python, "-m", "python_baseline.releases", self._entry.xgboost],
            {"PYTHONPATH": str(self._site.client.root)},
        ).strip()
        return {**versions, "redis-server": self._site.feature_cache.version()}

    def start(self, trees: int) -> None:
        """Writes the bodies that are sent."""
        site, self._trees = self._site, trees
        settings = Settings.read({**os.environ, PREFIX + "MODEL": str(site.model(trees))})
        self._started = modes.command(self._entry.mode, "ADDRESS", settings)
        self._listening = site.places.service
        self._bodies = write_bodies(site.directory / "bodies", site.keys)

    def _parts(self) -> Parts:
        return {}

    def stop(self) -> None:
        """Nothing was started."""


SYSTEMS: Systems = {
    "postgres_direct": Direct,
    "postgres_pgbouncer": AttachedPgbouncer,
    "python_tuned": partial(AttachedMicroservice, ENTRIES["python_tuned"]),
}
