"""Features in the worker's own memory: no other process is asked at all.

The fastest that a service can be, and it holds every flight once for each worker
and must be restarted to learn of a new one.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from data.flights import Request, blocks
from python_baseline.keys import INDICES, Key
from python_baseline.settings import Settings
from python_baseline.stores import UnknownKey


class MemoryStore:
    """The flights as one matrix, and each key's row in it."""

    def __init__(self, rows: NDArray[np.int32]) -> None:
        # Backwards, so that of several rows with one key the first stays.
        numbers = range(len(rows) - 1, -1, -1)
        found = dict(zip(map(tuple, rows[::-1, INDICES].tolist()), numbers, strict=True))
        self._numbers = {key: place for place, key in enumerate(found)}
        self._features = rows[[*found.values()], 1:].astype(np.float32)

    def fetch(self, wanted: Sequence[Key]) -> NDArray[np.float32]:
        """A row of features for each key."""
        try:
            return self._features[[self._numbers[key] for key in wanted]]
        except KeyError as error:
            raise UnknownKey(error.args[0]) from None


def open_store(settings: Settings) -> MemoryStore:
    """Makes the flights anew: they depend on their number and seed alone."""
    return MemoryStore(np.concatenate([*blocks(Request(settings.rows, settings.seed))]))
