"""An application on uvicorn workers under Gunicorn, each with a separate listening socket.

With a shared socket the worker that wakes first accepts most connections: of 20, the four workers of
`uvicorn --workers 4` had 15, 5, 0 and 0. FastAPI has two workers per core; the bare application of asgi/ has
one, which never waits. Granian (RSGI) in place of uvicorn was no faster, and slower with one client
(docs/dev/decisions.md).
"""

from collections.abc import Sequence
from pathlib import PurePath

from bench.systems.http import Http, Started

PACKAGES = (
    "fastapi", "starlette", "uvicorn", "uvicorn-worker", "uvloop", "httptools", "redis", "hiredis", "orjson",
)  # fmt: skip
WORKER = "bench.systems.fastapi.app.Worker"


class Uvicorn(Http):
    """An application, with a library of trees and a place for features."""

    part = "uvicorn"
    # The number of workers, if not by core.
    workers: int | None = None

    def versions(self) -> dict[str, str]:
        server = self._site.server
        if self._options.predictor == "gbtrees":
            server.run([server.root / "bench/systems/asgi/build.sh"])
        return server.call("bench.record:packages", names=PACKAGES)

    def command(self, models: Sequence[PurePath], address: str) -> Started:
        server, options = self._site.server, self._options
        settings = self.settings(models, predictor=options.predictor)
        command = [
            server.python, "-m", "gunicorn", "--no-control-socket", f"--bind={address}", "--reuse-port",
            f"--workers={self.workers or options.per_core * server.cores}", "--keep-alive=75",
            f"--worker-class={WORKER}", options.app,
        ]  # fmt: skip
        place = {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(server.root)}
        return command, settings.environment() | place
