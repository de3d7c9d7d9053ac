"""A program of Python's that asks, as applications do: `python -m bench.generators.python_client QUESTION`.

A closed loop. Each client is a process with a connection. A request ends when its answers are Python's
numbers. http.client, the standard library's, was the fastest of those that were tried (httpx, requests,
urllib3, aiohttp).

The question is a file of JSON: `client`; `where`, the beginning of URLs (psycopg has the environment);
`calls`, statements or URLs that are called one after the other for one of `bodies` drawn evenly; and `load`,
a Load.
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

from bench.generators import Figures, Load, Unsound, logged
from bench.generators.request_log import summary

PATIENCE_SECONDS = 60
SQL = "psycopg"
REPORT = "report "

# What a connection is asked, and the answer: a number or several.
Ask = Callable[[str, Any], Any]


def _psycopg(conninfo: str) -> Ask:
    """Statements are prepared, one round trip each; libpq's variables say what the string does not."""
    connection = psycopg.connect(conninfo, autocommit=True)

    def ask(statement: str, parameters: Sequence[float]) -> Any:
        row = connection.execute(statement, parameters, prepare=True).fetchone()
        return row[0] if len(row) == 1 else [*row]

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
    """The report's figures; none of the requests may have failed."""
    found = [line for line in output.splitlines() if line.startswith(REPORT)]
    if not found:
        raise Unsound(f"the client printed no report:\n{output}")
    return logged(json.loads(found[-1].removeprefix(REPORT)))


def _client(given: Mapping[str, Any], seed: int, end: float) -> list[tuple[float, float]]:
    """Asks again when it has been answered; when each was sent, and its last answer had come."""
    calls, bodies, draw = given["calls"], given["bodies"], random.Random(seed)
    ask = CLIENTS[given["client"]](given["where"])
    found, sent = [], time.monotonic()
    while sent < end:
        body = bodies[int(draw.random() * len(bodies))]
        for call in calls:
            ask(call, body)
        done = time.monotonic()
        found.append((sent, done))
        sent = done
    return found


def main() -> None:
    """Asks, and prints the report."""
    given = json.loads(Path(sys.argv[1]).read_text())
    load, began = Load(**given["load"]), time.monotonic()
    clients = [(given, load.seed + client, began + load.end) for client in range(load.clients)]
    with multiprocessing.get_context("fork").Pool(load.clients) as pool:
        found = [*chain.from_iterable(pool.starmap(_client, clients, chunksize=1))]
    # A client that is free asks at once: a request is due when it is sent.
    requests = np.array(found)[:, [0, 0, 1]] - began
    print(REPORT + json.dumps(asdict(summary(requests, load))))


if __name__ == "__main__":
    main()
