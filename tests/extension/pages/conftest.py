"""The databases that pages begin with: the quick start's, or an empty one.

All pages but the quick start go on from its table and its model.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.extension.pages.blocks import outputs, sections
from tools.cluster import Cluster

QUICK_START = "docs/quick-start.md"
# Those that begin with an empty database and make their tables themselves.
EMPTY = (QUICK_START, "README.md", "docs/search.md")
# Pages whose sections stand alone.
BY_SECTION = ("docs/recipes.md",)
TABLES = "page_tables"


def make(cluster: Cluster) -> None:
    """Makes the database that others are copied from: the quick start's table and first model."""
    cluster.create_database(TABLES, replace=True)
    made = [section for section in sections(QUICK_START) if section.title in ("Data", "Train")]
    with TemporaryDirectory() as folder:
        for section in made:
            outputs(section, cluster, TABLES, Path(folder))


@pytest.fixture(scope="session")
def tables(cluster: Cluster) -> str:
    """The database with the quick start's table and first model."""
    make(cluster)
    return TABLES


def copy(cluster: Cluster, dbname: str, path: str) -> None:
    """Makes the database in which a page, or a section of it, runs."""
    template = "template0" if path in EMPTY else TABLES
    cluster.create_database(dbname, replace=True, template=template)
