"""The microservice predicts as XGBoost does by the pinned library, keeps connections, and reports errors."""

import http.client
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import numpy as np
import pytest
import redis
import xgboost

from bench import processes
from bench.feature_cache import start_redis
from bench.hosts import Address, Host, Service
from data.columns import FEATURES
from data.flights import Request, blocks
from python_baseline import releases
from python_baseline.keys import INDICES, NAMES
from python_baseline.load import load
from python_baseline.modes import ROOT
from tests.bench.baseline.conftest import ROWS, Client, StartService

HOT = [14869, 2019, 8, 31]


def test_the_first_of_several_flights_is_predicted_for(client: Client, model: Path) -> None:
    """PostgreSQL's LIMIT 1 by its index finds the same; a lost order of loading would show here."""
    flights = np.concatenate([*blocks(Request(ROWS))])
    keys, counts = np.unique(flights[:, INDICES], axis=0, return_counts=True)
    booster = xgboost.Booster(model_file=model)
    told_apart = 0
    for key in keys[counts > 1]:
        rows = flights[(flights[:, INDICES] == key).all(axis=1)][:, 1:].astype(np.float32)
        predicted = booster.predict(xgboost.DMatrix(rows, feature_names=FEATURES)).tolist()
        assert client.ask("/", key.tolist()).json == predicted[0]
        told_apart += predicted[0] != predicted[-1]
    assert told_apart > 0


@pytest.mark.parametrize(
    ("path", "body", "method", "status"),
    [
        ("/", b"[" + b"1," * (1 << 20) + b"1]", "POST", 413),
        ("/predict", HOT, "POST", 404),
        ("/", None, "GET", 405),
    ],
)
def test_an_invalid_request_is_refused(
    client: Client, path: str, body: object, method: str, status: int
) -> None:
    answer = client.ask(path, body, method)
    assert answer.status == status
    assert answer.error


def test_features_and_ping_are_answered_without_a_prediction(client: Client) -> None:
    assert FEATURES[0] == "year"
    assert client.ask("/features", HOT).json == HOT[NAMES.index("year")]
    answer = client.ask("/ping", None, "GET")
    assert (answer.status, answer.json) == (200, "pong")


def test_the_library_is_the_pinned_one_which_is_newer(client: Client) -> None:
    assert client.ask("/", HOT).status == 200
    tree = processes.tree([client.service.pid])
    maps = [Path("/proc", str(pid), "maps").read_text() for pid in tree]
    libraries = [text for text in maps if "libxgboost" in text]
    assert libraries and all(str(releases.UNPACKED / "xgboost") in text for text in libraries)
    code = "from python_baseline import releases; print(releases.load().__version__)"
    # A process has one XGBoost.
    alone, second = (
        subprocess.run([sys.executable, "-c", one], cwd=ROOT, capture_output=True, text=True, check=False)
        for one in (code, f"import xgboost; {code}")
    )  # fmt: skip
    newer, older = (tuple(map(int, one.split("."))) for one in (alone.stdout, xgboost.__version__))
    assert newer >= (3, 4) > older
    assert "has been imported before" in second.stderr


CLIENTS = 100
REQUESTS = 20
# As cells have them: by a hash one in sixteen comes to one worker alone, and nine of thirty do once in some
# 30,000 times. Of a socket that both share, most do.
PAIR, FEW, TRIES, MOST_ALONE = 2, 5, 30, 8
ESTABLISHED, LISTENING = "01", "0A"

Connections = list[http.client.HTTPConnection]


@contextmanager
def connections(client: Client, count: int = CLIENTS) -> Iterator[Connections]:
    where = client.at
    with ExitStack() as stack:
        yield [
            stack.enter_context(closing(http.client.HTTPConnection(*where, timeout=30)))
            for _ in range(count)
        ]


def ask(connection: http.client.HTTPConnection) -> tuple[int, object, bool]:
    connection.request("POST", "/", json.dumps(HOT), {"Content-Type": "application/json"})
    answer = connection.getresponse()
    body = json.loads(answer.read())
    # http.client forgets a connection that the server closes.
    return answer.status, body, connection.sock is not None


@pytest.mark.parametrize("threads", [1, 2])
def test_a_hundred_clients_keep_their_connections(
    start_service: StartService, threads: int
) -> None:
    client = start_service("tuned", threads=threads)
    wanted = client.ask("/", HOT).json
    with connections(client) as opened, ThreadPoolExecutor(CLIENTS) as pool:
        for _ in range(REQUESTS):
            assert [*pool.map(ask, opened)] == [(200, wanted, True)] * CLIENTS


def sockets(client: Client, state: str) -> set[str]:
    """Returns the inodes of the service's sockets in a state, from the kernel's table."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    port = client.at[1]
    return {
        row[9] for row in rows if row[3] == state and int(row[1].rpartition(":")[2], 16) == port
    }


def held(client: Client) -> Counter[int]:
    """Returns the number of connections of each process of the service."""
    own = sockets(client, ESTABLISHED)
    found: Counter[int] = Counter()
    for pid in processes.tree([client.service.pid]):
        for file in Path(f"/proc/{pid}/fd").iterdir():
            found[pid] += str(file.readlink()).removeprefix("socket:[").removesuffix("]") in own
    return +found


def alone(client: Client) -> int:
    """Counts the times that the few connections of a cell are all accepted by one worker."""
    found = 0
    for _ in range(TRIES):
        with connections(client, FEW) as opened:
            assert {ask(connection)[0] for connection in opened} == {200}
            found += len(held(client)) == 1
    return found


def test_the_connections_of_a_cell_come_to_both_workers(start_service: StartService) -> None:
    client = start_service("tuned", workers=PAIR)
    assert alone(client) <= MOST_ALONE
    # By now both workers listen.
    assert len(sockets(client, LISTENING)) == PAIR


def loaded_redis(host: Host, directory: Path, port: int | None = None) -> tuple[Service, Address]:
    """A separate Redis with the flights, and its address."""
    server, at = start_redis(host, directory, port)
    load("redis://{}:{}/0".format(*at), Request(ROWS))
    return server, at


@pytest.mark.parametrize("mode", ["published", "tuned"])
def test_a_hanging_or_lost_redis_is_reported_in_time_and_reconnected(
    host: Host, tmp_path: Path, start_service: StartService, mode: str
) -> None:
    server, at = loaded_redis(host, tmp_path)
    client = start_service(mode, redis_url="redis://{}:{}/0".format(*at))

    def is_reported() -> None:
        # The published worker would be killed after two seconds, without an answer.
        for answer in (client.ask("/", HOT), client.ask("/batch", [HOT, HOT])):
            assert (answer.status, answer.error) == (503, "redis cannot be reached")
        assert client.ask("/ping", None, "GET").status == 200

    assert client.ask("/", HOT).status == 200
    os.kill(server.pid, signal.SIGSTOP)
    try:
        is_reported()
    finally:
        os.kill(server.pid, signal.SIGCONT)
    assert client.ask("/", HOT).status == 200
    server.stop()
    is_reported()
    again, _ = loaded_redis(host, tmp_path, at[1])
    try:
        assert client.ask("/", HOT).status == 200
    finally:
        again.stop()


def test_a_value_that_cannot_be_read_is_an_internal_error(
    start_service: StartService, redis_server: Address
) -> None:
    url = "redis://{}:{}/9".format(*redis_server)
    with redis.Redis.from_url(url) as connection:
        connection.rpush("[1, 2, 3, 4]", b"not a row")
        connection.set("[1, 2, 3, 5]", b"not a list")
    client = start_service("tuned", redis_url=url)
    answer = client.ask("/", [1, 2, 3, 4])
    assert (answer.status, answer.error) == (500, "internal error")
    # Redis answers, but not with a list, which is an internal error.
    assert client.ask("/", [1, 2, 3, 5]).status == 500
