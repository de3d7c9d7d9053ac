"""Loads generated flights into a Redis database, which it empties first.

It sends commands in Redis's protocol to `redis-cli --pipe`. As published, each key holds a list of its
flights' features. Two things differ from the published service, for the sake of the comparison. Rows are
appended to the list, so that its head is the flight that PostgreSQL's LIMIT 1 finds. And the key's parts are
integers; a data frame made them floats.
"""

import json
import os
import subprocess
from collections.abc import Iterator

import redis
from redis.connection import parse_url
from tqdm import tqdm

from data.flights import Request, blocks
from data.ranking import Ranking
from python_baseline import keys
from python_baseline.store import SERIALIZERS

# For RPUSH or SETNX, which have five letters.
STORE = b"*3\r\n$5\r\n%b\r\n$%d\r\n%b\r\n$%d\r\n%b\r\n"


class NotLoaded(Exception):
    """A command that Redis refused, or a lost connection; the message is redis-cli's."""


def _commands(request: Request, serializer: str) -> Iterator[tuple[bytes, int]]:
    """Yields commands of many rows in Redis's protocol, with the number of rows."""
    dumps, command = SERIALIZERS[serializer].dumps, SERIALIZERS[serializer].command
    for block in blocks(request):
        pairs = zip(block[:, keys.INDICES].tolist(), block[:, 1:].tolist(), strict=True)
        texts = ((keys.text(key).encode(), dumps(row)) for key, row in pairs)
        yield b"".join(STORE % (command, len(k), k, len(v), v) for k, v in texts), len(block)


def redis_values(ranking: Ranking, serializer: str) -> Iterator[dict[str, bytes]]:
    """Yields the values of trips, offers and categories: packed for `float32`, else JSON of rows and ids."""
    packs = serializer == "float32"
    dumps = SERIALIZERS[serializer].dumps
    trips, offers = ranking.trips.tolist(), ranking.offers.tolist()
    yield {f"trip:{place}": dumps(trip) for place, trip in enumerate(trips)}
    yield {f"offer:{place}": dumps(offer) for place, offer in enumerate(offers)}
    for size, members in ranking.members.items():
        pack = ranking.packed if packs else lambda ids: json.dumps(ids.tolist()).encode()
        yield {f"category:{size}:{place}": pack(ids) for place, ids in enumerate(members)}


def load(url: str, request: Request, serializer: str = "json") -> int:
    """Empties the database and fills it, with a progress bar; returns the number of rows."""
    with redis.Redis.from_url(url) as client:
        client.flushdb()
    place = parse_url(url)
    where = ["-h", place["host"], "-p", str(place.get("port", 6379)), "-n", str(place.get("db", 0))]
    who = {"REDISCLI_AUTH": place["password"]} if "password" in place else {}
    with (
        subprocess.Popen(
            ["redis-cli", *where, "--pipe"], env=os.environ | who,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        ) as pipe,
        tqdm(total=request.rows, unit=" rows", unit_scale=True, disable=None) as bar,
    ):  # fmt: skip
        for commands, rows in _commands(request, serializer):
            pipe.stdin.write(commands)
            bar.update(rows)
        said = pipe.communicate()[0].decode()
    if pipe.returncode != 0 or f"errors: 0, replies: {request.rows}" not in said:
        raise NotLoaded(f"redis-cli --pipe: {said.strip()}")
    return request.rows
