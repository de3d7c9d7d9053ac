"""A fake system, for tests of the harness."""

from collections.abc import Callable

import pytest

from bench import harness
from bench.systems.description import Description, Variant
from bench.systems.running import System


def description(name: str) -> Description:
    """Describes a system with one variant that takes the set `all`."""
    variants = {"http": Variant(name)}
    return Description(name, "", "service", 0, "", "", variants, ("all",))


def put_in_place(
    monkeypatch: pytest.MonkeyPatch, name: str, make: Callable[[], System]
) -> dict[str, Description]:
    """Makes this system the only one that the harness knows."""
    known = {name: description(name)}
    monkeypatch.setattr(harness, "described", lambda: known)
    monkeypatch.setattr(harness, "made", lambda *_: make())
    return known
