"""What the tests have in common."""

import pytest


@pytest.fixture(autouse=True)
def separate(own_models: None) -> None:
    """Each test has its own models."""
