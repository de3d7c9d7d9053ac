"""A program of Python's that asks, as applications do: `python -m bench.generators.python_client`.

A closed loop. The clients are shared out over as many processes as their host has cores; each is a thread
with a connection of its own. A request ends when its answers are Python's numbers. The question is a file of
JSON: {"calls": [...], "bodies": [...]}, statements or URLs that are called one after the other for a body
drawn evenly. http.client, the standard library's, was the fastest of those that were tried (httpx, requests,
urllib3, aiohttp).
"""

import argparse
import http.client
import json
import multiprocessing
import random
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path, PurePath
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import psycopg

from bench.generators import Figures, Load, Unsound, logged
from bench.generators.request_log import Window, summary

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


@dataclass(frozen=True)
class Program:
    """What is started, whom it asks, and how many cores its host has."""

    python: str
    client: str
    # The beginning of URLs; psycopg has its connection from the environment.
    where: str
    cores: int


def command(program: Program, question: PurePath, load: Load) -> list[str | PurePath]:
    """What to run."""
    processes = min(load.clients, program.cores)
    return [
        program.python, "-m", "bench.generators.python_client", program.client, question,
        f"--where={program.where}", f"--clients={load.clients}", f"--processes={processes}",
        f"--warm-up={load.warm_up}", f"--seconds={load.seconds}", f"--seed={load.seed}",
    ]  # fmt: skip


def parse(output: str) -> Figures:
    """The report's figures; none of the requests may have failed."""
    found = [line for line in output.splitlines() if line.startswith(REPORT)]
    if not found:
        raise Unsound(f"the client printed no report:\n{output}")
    return logged(json.loads(found[-1].removeprefix(REPORT)))


def _loop(
    ask: Ask, question: Mapping[str, Any], seed: int, end: float
) -> list[tuple[float, float]]:
    """One client: asks again when it has been answered; when each was sent, and its last answer had come."""
    calls, bodies, draw = question["calls"], question["bodies"], random.Random(seed)
    found, sent = [], time.monotonic()
    while sent < end:
        body = bodies[int(draw.random() * len(bodies))]
        for call in calls:
            ask(call, body)
        done = time.monotonic()
        found.append((sent, done))
        sent = done
    return found


def _process(
    given: argparse.Namespace, clients: Sequence[int], end: float
) -> list[tuple[float, float]]:
    """The loops of one process."""
    question = json.loads(given.question.read_text())
    asks = [CLIENTS[given.client](given.where) for _ in clients]
    with ThreadPoolExecutor(len(clients)) as pool:
        loops = [
            pool.submit(_loop, ask, question, given.seed + client, end)
            for ask, client in zip(asks, clients, strict=True)
        ]
        return [*chain.from_iterable(loop.result() for loop in loops)]


def main() -> None:
    """Asks, and prints the report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("client", choices=CLIENTS)
    parser.add_argument("question", type=Path)
    parser.add_argument("--where", default="", help="a URL; psycopg has the environment")
    for name in ("clients", "processes", "warm-up", "seconds", "seed"):
        parser.add_argument(f"--{name}", type=int, required=True)
    given = parser.parse_args()
    shares = [range(first, given.clients, given.processes) for first in range(given.processes)]
    window, began = Window(given.warm_up, given.seconds, None), time.monotonic()
    with multiprocessing.get_context("fork").Pool(len(shares)) as pool:
        questions = [(given, share, began + window.end) for share in shares]
        found = [*chain.from_iterable(pool.starmap(_process, questions, chunksize=1))]
    # A client that is free asks at once: a request is due when it is sent.
    requests = np.array(found)[:, [0, 0, 1]] - began
    print(REPORT + json.dumps(asdict(summary(requests, window))))


if __name__ == "__main__":
    main()
