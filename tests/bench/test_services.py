"""All services refuse the same requests in the same words, and all their workers answer."""

import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from bench.key_set import HOT
from bench.site import Site
from bench.systems.description import described, made
from bench.systems.http import Http
from bench.topology import on_this_machine
from bench.workload import WORKLOADS, Set
from tests.bench.baseline.conftest import Client
from tests.bench.baseline.test_service import MOST_ALONE, PAIR, alone

WORKLOAD = replace(
    WORKLOADS["quick"], rows=5_000, keys=10, cells={"tenants": Set(("tenants",), (1,), (3,))}
)
SERVICES = (
    "python_published", "python_tuned", "asgi", "asgi_memory", "asgi_gbtrees", "fastapi_plain", "axum",
    "axum_redis",
)  # fmt: skip
# For two answers, on a busy machine.
PATIENCE_SECONDS = 5
KEY = (
    "a key is a list of 4 whole numbers up to 2147483647: originairportid, year, month, dayofmonth"
)
BATCH = "a batch is a list of 1 to 10000 keys"
ROW = "features are a list of 10 numbers, or null where one is missing"
UNKNOWN = "no flight has the key [1, 2019, 8, 31]"
NO_KEYS = (
    None, 1, "14869", {}, {"key": HOT}, [], HOT[:3], [*HOT, 1], [*map(str, HOT)], [*map(float, HOT)],
    [True, 2019, 8, 31], [None, 2019, 8, 31], [-1, 2019, 8, 31], [2**31, 2019, 8, 31], [HOT],
)  # fmt: skip
# Path, body, status and message.
REFUSED = [
    *(("/", body, 400, KEY) for body in NO_KEYS),
    *((path, [1, 2019, 8, 31], 404, UNKNOWN) for path in ("/", "/1", "/features")),
    ("/features", [], 400, KEY),
    *(("/batch", body, 400, BATCH) for body in (None, {}, [], [HOT] * 10_001)),
    *(("/batch", body, 400, KEY) for body in ([[1]], [HOT, 1])),
    ("/batch", [HOT, [1, 2019, 8, 31]], 404, UNKNOWN),
    *(("/given", body, 400, ROW) for body in ([1], ["1", *range(9)])),
]


@pytest.fixture(scope="module")
def site(state: Path) -> Iterator[Site]:
    site = Site(WORKLOAD, on_this_machine(state), state)
    yield site
    site.stop()


@pytest.fixture(scope="module", params=SERVICES)
def service(request: pytest.FixtureRequest, site: Site) -> Iterator[Http]:
    found = made(described()[request.param], site)
    found.install()
    found.load()
    found.start(3)
    yield found
    found.stop()


@pytest.fixture
def client(service: Http) -> Client:
    return Client(service.service, service.at)


def test_invalid_requests_are_refused(client: Client) -> None:
    good = client.ask("/", HOT)
    assert good.status == 200
    for path, body, status, message in REFUSED:
        answer = client.ask(path, body)
        assert (answer.status, answer.error) == (status, message), (path, str(body)[:99])
    for path, body in product(("/", "/batch"), (b"", b"{", b"[1, 2", b"\xff\xfe")):
        answer = client.ask(path, body)
        assert answer.status == 400
        assert answer.error.startswith("the body is not JSON"), (path, body)
    assert client.ask("/", HOT) == good


def test_models_differ_and_a_missing_feature_counts(client: Client) -> None:
    predicted = [client.ask(f"/{model}", HOT).json for model in range(3)]
    assert len({*predicted}) == 3
    assert client.ask("/", HOT).json == predicted[0]
    missing = client.ask("/given", [None] * 10)
    assert missing.status == 200
    assert isinstance(missing.json, float)


@pytest.mark.parametrize("name", ["asgi", "fastapi_plain", "axum_redis"])
def test_a_lost_redis_is_reported_in_time(site: Site, name: str) -> None:
    # With another Redis than the other services have.
    own = Site(WORKLOAD, site.topology, site.directory)
    service = made(described()[name], own)
    service.load()
    service.start(3)
    try:
        client = Client(service.service, service.at)
        assert client.ask("/", HOT).status == 200
        own.feature_cache.stop()
        began = time.monotonic()
        for path, body in (("/", HOT), ("/batch", [HOT, HOT])):
            answer = client.ask(path, body)
            assert (answer.status, answer.error) == (503, "redis cannot be reached")
        assert time.monotonic() - began < PATIENCE_SECONDS
    finally:
        service.stop()
        own.feature_cache.stop()


@pytest.mark.parametrize("name", ["asgi_memory", "fastapi_plain"])
def test_the_connections_of_a_cell_come_to_both_workers(site: Site, name: str) -> None:
    service = made(described()[name], site)
    service.workers = PAIR
    service.load()
    service.start(3)
    try:
        assert alone(Client(service.service, service.at)) <= MOST_ALONE
    finally:
        service.stop()
