"""The fixture that all tests of this folder use."""

import pytest


@pytest.fixture(autouse=True)
def separate(own_models: None) -> None:
    """Each test has its own models."""
