"""Loads generated flights into a database of Redis, which it empties first.

By Redis's own tool for many rows, `redis-cli --pipe`, which is sent commands as Redis itself reads them. As
published there is a list under each key, of the features of its flights. Two things differ, for the
comparison's sake. A row is pushed to the list's end, not its beginning, so that its head is the
flight that PostgreSQL's LIMIT 1 finds. And the key's parts are integers by construction; a data frame
made them floats.
"""

import os
import subprocess
from collections.abc import Iterator

import redis
from redis.connection import parse_url
from tqdm import tqdm

from data.flights import Request, blocks
from python_baseline import keys
from python_baseline.serializers import SERIALIZERS

# RPUSH or SETNX, which are as long.
STORE = b"*3\r\n$5\r\n%b\r\n$%d\r\n%b\r\n$%d\r\n%b\r\n"


class NotLoaded(Exception):
    """Redis refused a command, or went away; the message is redis-cli's."""


def _commands(request: Request, serializer: str) -> Iterator[tuple[bytes, int]]:
    """The protocol's bytes of many rows, and how many."""
    dumps, command = SERIALIZERS[serializer].dumps, SERIALIZERS[serializer].command
    for block in blocks(request):
        pairs = zip(block[:, keys.INDICES].tolist(), block[:, 1:].tolist(), strict=True)
        texts = ((keys.text(key).encode(), dumps(row)) for key, row in pairs)
        yield b"".join(STORE % (command, len(k), k, len(v), v) for k, v in texts), len(block)


def load(url: str, request: Request, serializer: str = "json") -> int:
    """Empties the database, fills it under a progress bar; returns how many rows."""
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
