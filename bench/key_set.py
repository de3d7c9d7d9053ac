"""The flights that are asked for: drawn from those there are, the looked-up one first."""

from collections.abc import Sequence

import numpy as np

from data import world
from data.columns import LOOKED_UP
from data.flights import Request, blocks
from python_baseline.keys import INDICES, NAMES, Key

PER_BATCH = 100
# Each is a statement of its own, of which every connection keeps the plan when it is prepared: so few.
BATCHES = 10

HOT: Key = tuple(LOOKED_UP[name] for name in NAMES)


def key_set(request: Request, size: int) -> list[Key]:
    """So many different keys, each of at least one flight, the same for the same flights."""
    parts = [np.unique(block[:, INDICES], axis=0) for block in blocks(request)]
    every = np.unique(np.concatenate(parts), axis=0)
    if len(every) < size:
        raise ValueError(f"{request.rows} flights have {len(every)} keys, not {size}")
    order = np.argsort(world.words(len(every), request.seed, 3), kind="stable")
    drawn = [tuple(key) for key in every[order[:size]].tolist() if tuple(key) != HOT]
    return [HOT, *drawn][:size]


def split(keys: Sequence[Key], size: int = PER_BATCH) -> list[list[Key]]:
    """All keys, so many at a time."""
    return [[*keys[start : start + size]] for start in range(0, len(keys), size)]


def timed_batches(keys: Sequence[Key]) -> list[list[Key]]:
    """The batches that are asked for while the time is taken, the same of every system."""
    return split(keys)[:BATCHES]
