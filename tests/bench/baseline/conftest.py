"""A real Redis, a real Gunicorn in each of its modes and a small model, on the loopback interface."""

import json
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from bench.feature_cache import start_redis
from bench.hosts import Address, Host, Service, local
from data.flights import Request
from python_baseline import modes
from python_baseline.load import load
from python_baseline.settings import Settings
from tools.workbench.training import Recipe, trained

ROWS = 3_000


@dataclass(frozen=True)
class Answer:
    """A response of the service."""

    status: int
    kind: str
    text: str

    @property
    def json(self) -> object:
        """The body, parsed as JSON."""
        assert self.kind == "application/json"
        return json.loads(self.text)

    @property
    def error(self) -> str:
        """The message of an error."""
        assert self.status >= 400
        assert "Traceback" not in self.text
        assert [*self.json] == ["error"]
        return self.json["error"]


@dataclass(frozen=True)
class Client:
    """A running service."""

    service: Service
    at: Address

    @property
    def address(self) -> str:
        """The address as host:port."""
        return "{}:{}".format(*self.at)

    def ask(self, path: str, body: object, method: str = "POST") -> Answer:
        """Posts a body: bytes unchanged, anything else as JSON."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(
            f"http://{self.address}{path}",
            content if method == "POST" else None,
            {"Content-Type": "application/json"},
            method=method,
        )
        try:
            answer = urllib.request.urlopen(request, timeout=30)
        except urllib.error.HTTPError as error:
            answer = error
        with answer:
            return Answer(answer.status, answer.headers.get_content_type(), answer.read().decode())


@pytest.fixture(scope="session")
def host() -> Host:
    """This machine."""
    return local()


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of a few trees."""
    directory = tmp_path_factory.mktemp("model")
    return trained(Recipe(ROWS, rounds=5), directory, "flights")[0].path


@pytest.fixture(scope="session")
def redis_server(host: Host, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Address]:
    """A Redis with the flights in it."""
    service, at = start_redis(host, tmp_path_factory.mktemp("redis"))
    assert load("redis://{}:{}/0".format(*at), Request(ROWS)) == ROWS
    yield at
    service.stop()


@pytest.fixture(scope="session")
def settings(model: Path, redis_server: Address) -> Settings:
    """The settings of every service of this run."""
    url = "redis://{}:{}/0".format(*redis_server)
    return Settings(str(model), redis_url=url, rows=ROWS, workers=1, threads=2)


StartService = Callable[..., Client]


@pytest.fixture(scope="module")
def start_service(
    host: Host, settings: Settings, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[StartService]:
    """Starts a service in a mode with changed settings; it is stopped after the module."""
    with ExitStack() as stack:

        def start(mode: str, **different: object) -> Client:
            port, log = host.free_port(), tmp_path_factory.mktemp("service") / "log"
            address = f"{host.address}:{port}"
            command, environment = modes.command(mode, address, replace(settings, **different))
            service = host.start(command, log, environment)
            stack.callback(service.stop)
            return Client(service, service.ready(port, "/ping"))

        yield start


@pytest.fixture(scope="module", params=["published", "tuned"])
def client(request: pytest.FixtureRequest, start_service: StartService) -> Client:
    """The service, as published and tuned: both answer the same."""
    return start_service(request.param)
