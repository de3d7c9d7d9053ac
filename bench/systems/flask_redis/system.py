"""The service of python_baseline/, in one of its modes, under Gunicorn."""

from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

from bench.site import Site
from bench.systems.http import Http, Started
from python_baseline import modes

PACKAGES = ("flask", "gunicorn", "numpy", "orjson", "msgpack", "psycopg", "redis", "xgboost-cpu")


class FlaskRedis(Http):
    """Published or tuned, with the XGBoost that is pinned or the one that pip gives."""

    part = "gunicorn"
    # Workers and threads, in place of the workload's.
    pair: tuple[int, int] | None = None

    def __init__(self, site: Site, mode: str, xgboost: str = "pinned", **features: str) -> None:
        super().__init__(site, **features)
        self._mode = mode
        self._xgboost = xgboost

    def versions(self) -> dict[str, str]:
        server = self._site.server
        versions = server.call("bench.machine:packages", names=PACKAGES)
        release = server.run([server.python, "-m", "python_baseline.releases", self._xgboost])
        return versions | {f"xgboost of the service, {self._xgboost}": release.strip()}

    def command(self, models: Sequence[PurePath], address: str) -> Started:
        workload, server = self._site.workload, self._site.server
        pair = self.pair or (workload.workers, workload.threads)
        given = {k: v for k, v in zip(("workers", "threads"), pair, strict=True) if v}
        settings = self.settings(models, xgboost=self._xgboost, **given)
        command, environment = modes.command(self._mode, address, settings)
        # The command is this Python's and this repository's; the host has its own of both.
        return [server.python, *command[1:]], environment | {"PYTHONPATH": str(server.root)}

    def configuration(self) -> dict[str, Any]:
        found = super().configuration()
        entry = {"mode": self._mode, "xgboost": self._xgboost}
        return found | {"entry": entry | found["entry"]}
