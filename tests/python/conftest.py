"""Fixtures of the Python package's tests."""

import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import psycopg2
import pytest
import sqlalchemy
from sqlalchemy.orm import Session

from tools.cluster import Cluster


@pytest.fixture(autouse=True)
def separate(own_models: None) -> None:
    """Each test has its own models."""


@pytest.fixture
def spark(tmp_path: Path) -> Path:
    """The models that Spark has saved, a directory each, unpacked for the test, which may change them."""
    with tarfile.open(Path(__file__).parent / "spark" / "saved.tar.xz") as archive:
        archive.extractall(tmp_path / "spark", filter="data")
    return tmp_path / "spark"


@pytest.fixture(params=["string", "psycopg", "psycopg2", "engine", "engine2", "core", "session"])
def given(cluster: Cluster, dbname: str, request: pytest.FixtureRequest) -> Iterator[Any]:
    """Yields each kind of connection."""
    conninfo = cluster.conninfo(dbname)
    if request.param == "string":
        yield conninfo
    elif request.param == "psycopg":
        with psycopg.connect(conninfo) as connection:
            yield connection
    elif request.param == "psycopg2":
        connection = psycopg2.connect(conninfo)
        yield connection
        connection.close()
    else:
        driver = psycopg2 if request.param == "engine2" else psycopg
        dialect = f"postgresql+{driver.__name__}://"
        engine = sqlalchemy.create_engine(dialect, creator=lambda: driver.connect(conninfo))
        if request.param.startswith("engine"):
            yield engine
        elif request.param == "core":
            with engine.connect() as opened:
                yield opened
        else:
            with Session(engine) as session:
                yield session
        engine.dispose()
