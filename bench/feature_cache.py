"""The Redis servers that services read features from, loaded once per run; never the machine's own Redis.

Each serializer has a separate server, so that the memory counted for a service is that of
one copy of the features. They are loaded from the server's host, where the services run.
"""

from pathlib import PurePath

from bench.hosts import Address, Host, Service
from bench.results import Loading
from data.flights import Request


def start_redis(
    host: Host, directory: PurePath, port: int | None = None
) -> tuple[Service, Address]:
    """Starts a Redis without persistence; returns it and its address."""
    port = port or host.free_port()
    # In protected mode Redis refuses other hosts.
    protected = "yes" if host.address.startswith("127.") else "no"
    command = [
        "redis-server", "--bind", host.address, "--port", str(port), "--dir", str(directory),
        "--save", "", "--appendonly", "no", "--protected-mode", protected,
    ]  # fmt: skip
    service = host.start(command, directory / "redis.log")
    return service, service.ready(port)


class FeatureCache:
    """The servers, each started on first use."""

    def __init__(self, host: Host, loader: Host) -> None:
        self._host = host
        self._loader = loader
        self._started: dict[str, tuple[Service, Address]] = {}
        self._loaded: set[str] = set()

    def _server(self, serializer: str) -> tuple[Service, Address]:
        if serializer not in self._started:
            directory = self._host.directory / "redis" / serializer
            self._started[serializer] = start_redis(self._host, directory)
        return self._started[serializer]

    def restart(self, serializer: str) -> None:
        """Starts a server that was killed again, at its address and with what it has saved."""
        service, (_, port) = self._started[serializer]
        self._started[serializer] = start_redis(self._host, service.log.parent, port)

    def url(self, serializer: str) -> str:
        return "redis://{}:{}/0".format(*self._server(serializer)[1])

    def load(self, request: Request, serializer: str) -> list[Loading]:
        """Fills the serializer's server, unless done; returns the time it took."""
        if serializer in self._loaded:
            return []
        asked = {**vars(request), "url": self.url(serializer), "serializer": serializer}
        took = self._loader.call("bench.asking:into_redis", apart=True, **asked)
        self._loaded.add(serializer)
        return [Loading(f"redis: redis-cli --pipe, {serializer}", request.rows, *took)]

    def roots(self, serializer: str) -> list[Service]:
        return [self._server(serializer)[0]]

    def version(self) -> str:
        said = self._host.run(["redis-server", "--version"])
        return next(word[2:] for word in said.split() if word.startswith("v="))

    def stop(self) -> None:
        """Stops the servers, whose data are lost."""
        while self._started:
            self._started.popitem()[1][0].stop()
        self._loaded.clear()
