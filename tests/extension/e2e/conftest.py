"""Fixtures of all tests of this folder."""

from collections.abc import Callable
from typing import Any

import pytest
from psycopg import Connection

from tests.extension.e2e.reference import model_bytes

Load = Callable[..., int]


@pytest.fixture(autouse=True)
def separate(own_models: None) -> None:
    """Each test has its own models."""


@pytest.fixture
def load(connection: Connection) -> Load:
    """Loads a model or its file, as `m`, with further arguments of load_model; returns the version."""

    def loaded(model: Any, more: str = "", *arguments: Any, name: str = "m") -> int:
        file = model if isinstance(model, bytes) else model_bytes(model)
        query = f"SELECT load_model(%s, %s{', ' * bool(more)}{more})"
        return connection.execute(query, (name, file, *arguments)).fetchone()[0]

    return loaded
