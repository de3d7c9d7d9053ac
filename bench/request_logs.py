"""Where load generators log single requests on their host, and what those logs say."""

from pathlib import PurePath

from bench.generators import Figures, Load, logged
from bench.hosts import Host


class RequestLogs:
    """A directory of the client's host that each run finds empty."""

    def __init__(self, client: Host) -> None:
        self._client = client

    def fresh(self) -> PurePath:
        """Where the next run's log goes; what another run has left there is deleted."""
        directory = self._client.directory / "request-logs"
        self._client.run(["sh", "-c", 'rm -rf "$1" && mkdir -p "$1"', "sh", str(directory)])
        return directory / "requests"

    def figures(self, kind: str, log: PurePath, load: Load) -> Figures:
        """What a log says, which the client's host reads and deletes."""
        function = "bench.generators.request_log:read"
        asked = {"kind": kind, "log": str(log), "rate": load.rate}
        return logged(
            self._client.call(function, warm_up=load.warm_up, seconds=load.seconds, **asked)
        )
