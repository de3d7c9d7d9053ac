"""Gunicorn keeps so many uvicorns, each with a listening socket of its own.

Of one socket that all share, whoever wakes first takes what is there, and keeps it: of 20 connections the
four workers of `uvicorn --workers 4` had 15, 5, 0 and 0.
"""

from collections.abc import Sequence
from pathlib import PurePath

from bench.systems.http import Http, Started
from python_baseline.settings import Settings

PACKAGES = (
    "fastapi", "starlette", "uvicorn", "uvicorn-worker", "uvloop", "httptools", "redis", "orjson",
)  # fmt: skip
WORKERS_PER_CORE = 2
APP = "bench.systems.fastapi.app"


class FastApi(Http):
    """The application of app.py."""

    part = "uvicorn"
    # In place of so many for each core.
    workers: int | None = None

    def versions(self) -> dict[str, str]:
        return self._site.server.call("bench.machine:packages", names=PACKAGES)

    def served(self, app: str, settings: Settings, address: str, per_core: int) -> Started:
        """What serves an application with so many workers for each core."""
        server = self._site.server
        workers = self.workers or per_core * int(server.facts()["cores"])
        command = [
            server.python, "-m", "gunicorn", "--no-control-socket", f"--bind={address}", "--reuse-port",
            f"--workers={workers}", "--keep-alive=75", f"--worker-class={APP}.Worker", app,
        ]  # fmt: skip
        place = {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(server.root)}
        return command, settings.environment() | place

    def command(self, models: Sequence[PurePath], address: str) -> Started:
        settings = self.settings(models, predictor="inplace", xgboost="pinned")
        return self.served(f"{APP}:app()", settings, address, WORKERS_PER_CORE)
