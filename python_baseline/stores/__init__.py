"""Where the service finds a flight's features, a file a place.

A store has one verb, `fetch`, from keys to rows of features in the model's order.
Where several flights share a key, each store gives the one that was loaded first,
which is also the one that PostgreSQL's index leads to.
"""

from collections.abc import Sequence
from importlib import import_module
from typing import Protocol

from python_baseline.keys import Key
from python_baseline.settings import Settings

NAMES = ("redis", "memory")


class UnknownKey(LookupError):
    """No flight has the key."""

    def __init__(self, key: Key) -> None:
        super().__init__(f"no flight has the key {[*key]}")


class StoreGone(ConnectionError):
    """The features cannot be reached just now."""


class Store(Protocol):
    """What every store does."""

    def fetch(self, keys: Sequence[Key]) -> Sequence[Sequence[float]]:
        """A row of features for each key."""


def open_store(settings: Settings) -> Store:
    """The store that the settings name; what another needs is not imported."""
    if settings.store not in NAMES:
        raise SystemExit(f"no store {settings.store!r}: there are {', '.join(NAMES)}")
    return import_module(f"python_baseline.stores.{settings.store}_store").open_store(settings)
