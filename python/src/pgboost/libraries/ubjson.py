"""Writes UBJSON: objects, lists, text, numbers, and NumPy arrays as typed arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

# By NumPy's type: the marker, and the big-endian type in the file.
_TYPES = {
    "float64": (b"D", ">f8"),
    "float32": (b"d", ">f4"),
    "int32": (b"l", ">i4"),
    "uint8": (b"U", "u1"),
}


def dumps(value: Any) -> bytes:
    return b"".join(_value(value))


def _value(value: Any) -> Iterator[bytes]:
    if isinstance(value, np.ndarray):
        marker, kind = _TYPES[value.dtype.name]
        yield b"[$" + marker + b"#" + _length(value.size)
        yield value.astype(kind).tobytes()
    elif isinstance(value, Mapping):
        yield b"{"
        for key, member in value.items():
            yield _text(key)
            yield from _value(member)
        yield b"}"
    elif isinstance(value, (list, tuple)):
        yield b"["
        for member in value:
            yield from _value(member)
        yield b"]"
    else:
        yield _scalar(value)


def _scalar(value: Any) -> bytes:
    if value is None:
        return b"Z"
    if isinstance(value, bool):
        return b"T" if value else b"F"
    if isinstance(value, int):
        return b"L" + value.to_bytes(8, "big", signed=True)
    if isinstance(value, float):
        return b"D" + np.array(value, ">f8").tobytes()
    return b"S" + _text(value)


def _text(text: str) -> bytes:
    encoded = text.encode()
    return _length(len(encoded)) + encoded


def _length(length: int) -> bytes:
    return b"l" + length.to_bytes(4, "big", signed=True)
