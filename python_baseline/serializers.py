"""The formats of a row of features in Redis.

`json` is pushed to a list, as published. `float32` is a library's input format, one string per key, which
needs no parsing and is read by MGET: bench/systems/asgi and bench/systems/axum use it.
"""

import json
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Serializer:
    """Functions that serialize a row and parse it; `loads` is None if predictors read the bytes."""

    dumps: Callable[[Sequence[float]], bytes]
    loads: Callable[[bytes], list[float]] | None
    # The Redis command that stores a row and keeps a key's first one.
    command: bytes = b"RPUSH"


def _floats(row: Sequence[float]) -> bytes:
    return struct.pack(f"<{len(row)}f", *row)


SERIALIZERS = {
    "json": Serializer(lambda row: json.dumps(row).encode(), json.loads),
    "float32": Serializer(_floats, None, b"SETNX"),
}
