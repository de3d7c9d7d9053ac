"""How a row of features is written into Redis: JSON as published, or what may be faster.

Text and MessagePack are pushed to a list, as published. `float32` is what a library of trees reads, one
string a key, so that nothing has to be parsed and one MGET reads many.
"""

import json
import struct
from collections.abc import Callable
from dataclasses import dataclass

import msgpack
import orjson


@dataclass(frozen=True)
class Serializer:
    """A pair of functions, the one undoing the other."""

    dumps: Callable[[list[int]], bytes]
    loads: Callable[[bytes], list[float]]
    # The command of Redis that stores a row, of which the first of a key stays.
    command: bytes = b"RPUSH"


def _floats(row: list[int]) -> bytes:
    return struct.pack(f"<{len(row)}f", *row)


def _numbers(value: bytes) -> list[float]:
    return [*struct.unpack(f"<{len(value) // 4}f", value)]


SERIALIZERS = {
    "json": Serializer(lambda row: json.dumps(row).encode(), json.loads),
    "orjson": Serializer(orjson.dumps, orjson.loads),
    "msgpack": Serializer(msgpack.packb, msgpack.unpackb),
    "float32": Serializer(_floats, _numbers, b"SETNX"),
}
