"""The service of python_baseline/, in one of its modes, under Gunicorn."""

import os
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

from bench.site import Site
from bench.systems.http import Http, Started
from python_baseline import modes
from python_baseline.settings import Settings

PACKAGES = ("flask", "gunicorn", "numpy", "orjson", "msgpack", "psycopg", "redis", "xgboost-cpu")


class FlaskRedis(Http):
    """Published or tuned, with the XGBoost that is pinned or the one that pip gives."""

    part = "gunicorn"
    # Workers and threads, in place of the workload's.
    pair: tuple[int, int] | None = None

    def __init__(
        self,
        site: Site,
        mode: str,
        store: str = "redis",
        serializer: str = "json",
        xgboost: str = "pinned",
    ) -> None:
        super().__init__(site, store, serializer)
        self._mode = mode
        self._xgboost = xgboost

    def versions(self) -> dict[str, str]:
        server = self._site.server
        versions = server.call("bench.machine:packages", names=PACKAGES)
        release = server.run([server.python, "-m", "python_baseline.releases", self._xgboost])
        return versions | {f"xgboost of the service, {self._xgboost}": release.strip()}

    def command(self, models: Sequence[PurePath], address: str) -> Started:
        workload = self._site.workload
        workers, threads = self.pair or (workload.workers, workload.threads)
        given: dict[str, Any] = {"workers": workers, "threads": threads}
        if self._store == "redis":
            given["redis_url"] = self.redis_url
        elif self._store == "postgresql":
            given["conninfo"] = self.conninfo
        settings = Settings(
            os.pathsep.join(map(str, models)), self._store, self._serializer, xgboost=self._xgboost,
            rows=workload.rows, seed=workload.seed,
            **{name: value for name, value in given.items() if value},
        )  # fmt: skip
        command, environment = modes.command(self._mode, address, settings)
        # The command is this Python's and this repository's; the host has its own of both.
        command[0], environment["PYTHONPATH"] = (
            self._site.server.python,
            str(self._site.server.root),
        )
        return command, environment

    def configuration(self) -> dict[str, Any]:
        found = super().configuration()
        entry = {"mode": self._mode, "xgboost": self._xgboost}
        return found | {"entry": entry | found["entry"]}
