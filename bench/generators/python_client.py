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
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import psycopg

from bench.generators import Figures, InvalidRun, Load, logged
from bench.generators.request_log import summary

PATIENCE_SECONDS = 60
SQL = "psycopg"
REPORT = "report "

# Makes a call with its values; returns the answer.
Ask = Callable[[str, Any], Any]


def _psycopg(conninfo: str) -> Ask:
    """Calls prepared statements, one round trip each; libpq's variables complete the connection string."""
    connection = psycopg.connect(conninfo, autocommit=True)

    def ask(statement: str, parameters: Sequence[Any]) -> Any:
        return connection.execute(statement, parameters, prepare=True).fetchall()

    return ask


def _http_client(url: str) -> Ask:
    where, paths = urlsplit(url), {}
    connection = http.client.HTTPConnection(where.hostname, where.port, timeout=PATIENCE_SECONDS)
    headers = {"Content-Type": "application/json"}

    def ask(url: str, body: Any) -> Any:
        path = paths.get(url) or paths.setdefault(url, urlsplit(url).path)
        connection.request("POST", path, json.dumps(body), headers)
        response = connection.getresponse()
        answer = json.loads(response.read())
        if response.status != 200:
            raise http.client.HTTPException(f"status {response.status}: {answer}")
        return answer

    return ask


CLIENTS: dict[str, Callable[[str], Ask]] = {"psycopg": _psycopg, "http_client": _http_client}


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
