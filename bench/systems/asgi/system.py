"""uvicorn under Gunicorn as FastAPI has it, one worker a core: a worker is one thread that never waits.

Granian (RSGI) was tried in uvicorn's place: no faster, and slower with one client (docs/dev/decisions.md).
"""

from collections.abc import Sequence
from pathlib import PurePath

from bench.site import Site
from bench.systems.fastapi.system import PACKAGES, FastApi
from bench.systems.http import Started

APP = "bench.systems.asgi.app:app"


class Asgi(FastApi):
    """The application of app.py, with a library of trees and a place for features."""

    def __init__(self, site: Site, store: str = "redis", library: str = "xgboost") -> None:
        super().__init__(site, store, "float32")
        self._library = library

    def versions(self) -> dict[str, str]:
        server = self._site.server
        if self._library == "gbtrees":
            server.run([server.root / "bench/systems/asgi/build.sh"])
        return server.call("bench.machine:packages", names=(*PACKAGES, "hiredis"))

    def command(self, models: Sequence[PurePath], address: str) -> Started:
        # libraries.py loads the pinned library, whatever is installed.
        settings = self.settings(models, predictor=self._library, xgboost="pinned")
        return self.served(APP, settings, address, 1)
