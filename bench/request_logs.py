"""Where load generators log single requests on their host, and what those logs say."""

from pathlib import PurePath

from bench.generators import Figures, Load, logged
from bench.hosts import Host


class RequestLogs:
    """A directory of the client's host that each run finds empty."""

    def __init__(self, client: Host) -> None:
        self._client = client

    @property
    def _directory(self) -> PurePath:
        return self._client.directory / "request-logs"

    def fresh(self) -> PurePath:
        """Where the next run's log goes; what another run has left there is deleted."""
        directory = str(self._directory)
        self._client.run(["sh", "-c", 'rm -rf "$1" && mkdir -p "$1"', "sh", directory])
        return self._directory / "requests"

    def text(self, log: PurePath) -> str:
        """A log that is short."""
        return self._client.run(["cat", str(log)])

    def figures(self, kind: str, log: PurePath, load: Load) -> Figures:
        """What a long one says, which the client's host reads."""
        rate = [f"--rate={load.rate}"] if load.rate else []
        arguments = [
            kind,
            str(log),
            f"--warm-up={load.warm_up}",
            f"--seconds={load.seconds}",
            *rate,
        ]
        return logged(self._client.module("bench.generators.request_log", *arguments))
