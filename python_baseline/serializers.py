"""How a row of features is written into Redis: JSON as published, or what may be faster."""

import json
from collections.abc import Callable
from dataclasses import dataclass

import msgpack
import orjson


@dataclass(frozen=True)
class Serializer:
    """A pair of functions, the one undoing the other."""

    dumps: Callable[[list[int]], bytes]
    loads: Callable[[bytes], list[float]]


SERIALIZERS = {
    "json": Serializer(lambda row: json.dumps(row).encode(), json.loads),
    "orjson": Serializer(orjson.dumps, orjson.loads),
    "msgpack": Serializer(msgpack.packb, msgpack.unpackb),
}
