"""The key set: keys drawn from the flights, with the looked-up flight's first."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from data import world
from data.columns import LOOKED_UP
from data.flights import Request, blocks
from python_baseline.keys import INDICES, NAMES, Key

PER_BATCH = 100
# Few, because each is a separate statement whose plan every connection keeps when it is prepared.
BATCHES = 10

HOT: Key = tuple(LOOKED_UP[name] for name in NAMES)


def key_set(request: Request, size: int) -> list[Key]:
    """Draws distinct keys, each of at least one flight; deterministic for the same flights."""
    parts = [np.unique(block[:, INDICES], axis=0) for block in blocks(request)]
    every = np.unique(np.concatenate(parts), axis=0)
    if len(every) < size:
        raise ValueError(f"{request.rows} flights have {len(every)} keys, not {size}")
    order = np.argsort(world.words(len(every), request.seed, 3), kind="stable")
    drawn = [tuple(key) for key in every[order[:size]].tolist() if tuple(key) != HOT]
    return [HOT, *drawn][:size]


def _codes(parts: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """Packs each key into one number."""
    return np.asarray(parts, dtype=np.int64) @ np.array([100_000_000, 10_000, 100, 1])


def features_of(request: Request, keys: Sequence[Key]) -> NDArray[np.float32]:
    """Returns the features of each key's first flight; flights are generated one block at a time."""
    codes = _codes(np.array(keys))
    found: dict[int, NDArray[Any]] = {}
    for block in blocks(request):
        theirs = _codes(block[:, INDICES])
        for place in np.flatnonzero(np.isin(theirs, codes)):
            found.setdefault(int(theirs[place]), block[place, 1:])
        if len(found) == len(keys):
            break
    return np.array([found[code] for code in codes.tolist()], dtype=np.float32)


def split(keys: Sequence[Any], size: int = PER_BATCH) -> list[list[Any]]:
    """Splits keys, or their answers, into batches."""
    return [[*keys[start : start + size]] for start in range(0, len(keys), size)]


def timed_batches(keys: Sequence[Key]) -> list[list[Key]]:
    """Returns the batches that are requested while timing, the same for every system."""
    return split(keys)[:BATCHES]
