"""The tuned service keeps more connections open than it has threads, and spreads them over its workers."""

import http.client
import json
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest

from bench import processes
from tests.bench.baseline.conftest import Client, StartService
from tests.bench.baseline.test_service import HOT

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
