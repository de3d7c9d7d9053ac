"""The database that the pages' databases are copied from."""

import pytest

from tests.extension.pages import databases
from tools.cluster import Cluster


@pytest.fixture(scope="session")
def tables(cluster: Cluster) -> str:
    """The database with the quick start's table and first model."""
    databases.make(cluster)
    return databases.TABLES
