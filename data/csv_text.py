"""Converts numbers to CSV text, a block at a time.

Every value is a whole number below 100,000 or `NULL`, so its text is looked up, not formatted. A block is one
array of fixed-width fields, padded with zero bytes; deleting those leaves the lines. That writes millions of
rows per second; a loop in Python writes a few hundred thousand.
"""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from data.columns import COLUMNS

NULL = -1
LARGEST = 99_999

HEADER = ",".join(COLUMNS).encode() + b"\n"


@cache
def _texts() -> NDArray[np.bytes_]:
    """Returns the text of each number; the last entry, at the index -1, is that of NULL."""
    numbers = [str(number).encode() for number in range(LARGEST + 1)]
    return np.array([*numbers, b""], dtype="S5")


def render(rows: NDArray[np.int32]) -> bytes:
    """Renders rows as lines of CSV."""
    if rows.size and (rows.max() > LARGEST or rows.min() < NULL):
        raise ValueError(f"a value lies outside {NULL}..{LARGEST}")
    lines = np.empty((*rows.shape, 6), dtype=np.uint8)
    lines[..., :5] = _texts()[rows][..., None].view(np.uint8)
    lines[..., 5] = ord(",")
    lines[:, -1, 5] = ord("\n")
    return lines.tobytes().translate(None, b"\0")
