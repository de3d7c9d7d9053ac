"""A Python program as a load generator: `python -m bench.generators.python_client FILE`.

A closed loop; each client is a process with one connection. A request ends when its answers are Python
numbers. The standard library's http.client was the fastest of those tried (httpx, requests, urllib3,
aiohttp).

The JSON file holds `client`; `where`, the beginning of URLs (psycopg uses the environment); `calls`, pairs of
a statement or a URL and its values, of which one is drawn evenly; and `load`, a Load.
"""

import http.client
import json
import multiprocessing
import random
import select
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import psycopg

from bench.generators import Figures, InvalidRun, Load, logged
from bench.generators.request_log import summary

PATIENCE_SECONDS = 60
AGAIN_SECONDS = 0.1
SQL = "psycopg"
REPORT = "report "


class Psycopg:
    """Calls prepared statements, one round trip each; libpq's variables complete the connection string."""

    def __init__(self, conninfo: str) -> None:
        self._connection = psycopg.connect(conninfo, autocommit=True)

    def __call__(self, statement: str, parameters: Any) -> Any:
        return self._connection.execute(statement, parameters, prepare=True).fetchall()

    @property
    def socket(self) -> int:
        return self._connection.fileno()


class HttpClient:
    """Posts JSON."""

    def __init__(self, url: str) -> None:
        where = urlsplit(url)
        patience = {"timeout": PATIENCE_SECONDS}
        self._connection = http.client.HTTPConnection(where.hostname, where.port, **patience)
        self._paths: dict[str, str] = {}

    def __call__(self, url: str, body: Any) -> Any:
        path = self._paths.get(url) or self._paths.setdefault(url, urlsplit(url).path)
        headers = {"Content-Type": "application/json"}
        self._connection.request("POST", path, json.dumps(body), headers)
        response = self._connection.getresponse()
        answer = json.loads(response.read())
        if response.status != 200:
            raise http.client.HTTPException(f"status {response.status}: {answer}")
        return answer

    @property
    def socket(self) -> Any:
        return self._connection.sock


# Makes a call with its values on one connection; returns the answer.
CLIENTS: dict[str, Callable[[str], Psycopg | HttpClient]] = {
    "psycopg": Psycopg, "http_client": HttpClient,
}  # fmt: skip


def parse(output: str) -> Figures:
    """Returns the report's figures; a failed request ends the program without one."""
    found = [line for line in output.splitlines() if line.startswith(REPORT)]
    if not found:
        raise InvalidRun(f"the client printed no report:\n{output}")
    return logged(json.loads(found[-1].removeprefix(REPORT)))


def _client(given: Mapping[str, Any], seed: int, end: float) -> list[tuple[float, float]]:
    """Runs one client; returns when each request was sent, and when its last answer arrived."""
    calls, draw = given["calls"], random.Random(seed)
    ask = CLIENTS[given["client"]](given["where"])
    found, sent = [], time.monotonic()
    while sent < end:
        ask(*calls[int(draw.random() * len(calls))])
        done = time.monotonic()
        found.append((sent, done))
        sent = done
    return found


@dataclass(frozen=True)
class Schedule:
    """When a connection's requests are due, in seconds from `began` on the monotonic clock."""

    began: float
    rate: float
    seconds: float
    first: float

    def __iter__(self) -> Iterator[float]:
        count = round(self.seconds * self.rate)
        return (round(self.first + number / self.rate, 9) for number in range(count))


def at_rate(given: Mapping[str, Any], schedule: Schedule) -> list[tuple[float, ...]]:
    """Sends one connection's requests when they are due, and none of them again.

    Returns when each was due, sent and done, the place of its call, and the answer, which is NaN where it
    failed. As pools do, a connection that the server has closed is replaced before it is used, and after two
    failures requests fail at once until `AGAIN_SECONDS` have passed.
    """
    calls, draw, connection, found = given["calls"], random.Random(schedule.first), None, []
    failures, again = 0, 0.0
    for due in schedule:
        time.sleep(max(0.0, schedule.began + due - time.monotonic()))
        place, answer = int(draw.random() * len(calls)), float("nan")
        sent = time.monotonic() - schedule.began
        if failures < 2 or sent >= again:
            try:
                known = connection and connection.socket
                if not connection or (known and select.select([known], [], [], 0)[0]):
                    connection = CLIENTS[given["client"]](given["where"])
                answer = float(np.ravel(connection(*calls[place]))[0])
                failures = 0
            except (psycopg.Error, http.client.HTTPException, OSError, ValueError):
                connection, failures, again = None, failures + 1, sent + AGAIN_SECONDS
        found.append((due, sent, time.monotonic() - schedule.began, place, answer))
    return found


def main() -> None:
    """Runs the clients and prints the report."""
    given = json.loads(Path(sys.argv[1]).read_text())
    load, began = Load(**given["load"]), time.monotonic()
    clients = [(given, load.seed + client, began + load.end) for client in range(load.clients)]
    with multiprocessing.get_context("fork").Pool(load.clients) as pool:
        found = [*chain.from_iterable(pool.starmap(_client, clients, chunksize=1))]
    # In a closed loop a request is due when it is sent.
    requests = np.array(found)[:, [0, 0, 1]] - began
    print(REPORT + json.dumps(asdict(summary(requests, load))))


if __name__ == "__main__":
    main()
