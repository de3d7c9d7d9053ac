"""The tuned service keeps more connections open than it has threads, and serves all of them."""

import http.client
import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing

import pytest

from tests.baseline.conftest import StartService
from tests.baseline.test_service import HOT

CLIENTS = 100
REQUESTS = 20


@pytest.mark.parametrize("threads", [1, 2])
def test_a_hundred_clients_keep_their_connections(
    start_service: StartService, threads: int
) -> None:
    client = start_service("tuned", threads=threads)
    wanted = client.ask("/", HOT).json
    where = (client.listening.address, client.listening.port)

    def ask(connection: http.client.HTTPConnection) -> object:
        connection.request("POST", "/", json.dumps(HOT), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        body = json.loads(answer.read())
        # http.client forgets a connection that the server closes.
        return answer.status, body, connection.sock is not None

    with ExitStack() as stack:
        connections = [
            stack.enter_context(closing(http.client.HTTPConnection(*where, timeout=30)))
            for _ in range(CLIENTS)
        ]
        with ThreadPoolExecutor(CLIENTS) as pool:
            for _ in range(REQUESTS):
                assert [*pool.map(ask, connections)] == [(200, wanted, True)] * CLIENTS
