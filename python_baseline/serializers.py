"""How a row of features is written into Redis.

JSON is pushed to a list, as published. `float32` is what a library of trees reads, one string per key, so
that nothing has to be parsed and one MGET reads many: bench/systems/asgi and bench/systems/axum read it.
"""

import json
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Serializer:
    """A function that writes a row, and one that undoes it; None: the bytes are what predicts from."""

    dumps: Callable[[Sequence[float]], bytes]
    loads: Callable[[bytes], list[float]] | None
    # The command of Redis that stores a row, of which the first of a key stays.
    command: bytes = b"RPUSH"


def _floats(row: Sequence[float]) -> bytes:
    return struct.pack(f"<{len(row)}f", *row)


SERIALIZERS = {
    "json": Serializer(lambda row: json.dumps(row).encode(), json.loads),
    "float32": Serializer(_floats, None, b"SETNX"),
}
