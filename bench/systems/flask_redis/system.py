"""The service of python_baseline/, in one of its modes, under Gunicorn."""

from collections.abc import Sequence
from pathlib import PurePath

from bench.systems.http import Http, Started
from python_baseline import modes

PACKAGES = ("flask", "gunicorn", "numpy", "orjson", "redis", "xgboost-cpu")


class FlaskRedis(Http):
    """The published or the tuned service, with the pinned XGBoost."""

    part = "gunicorn"

    def versions(self) -> dict[str, str]:
        server = self._site.server
        versions = server.call("bench.record:packages", names=PACKAGES)
        release = server.run([server.python, "-m", "python_baseline.releases"])
        return versions | {"xgboost of the service": release.strip()}

    def command(self, models: Sequence[PurePath], address: str) -> Started:
        server, settings = self._site.server, self.settings(models)
        command, environment = modes.command(self._options.mode, address, settings)
        # The command names this machine's Python and repository; the host's replace them.
        return [server.python, *command[1:]], environment | {"PYTHONPATH": str(server.root)}
