"""Fixtures of the Python package's tests."""

import os
import re
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import psycopg2
import pytest
import sqlalchemy
from sqlalchemy.orm import Session, scoped_session, sessionmaker

import pgboost
from tools.cluster import Cluster

FOLDER = Path(__file__).parent
Same = Callable[..., pgboost.Verification]
Refused = Callable[..., None]


# How scikit-learn refuses what only later releases of it fit or predict.
LATER = re.compile(
    r"Input X contains NaN|could not convert string to float|must be an array-like or None"
    r"|unexpected keyword argument|For a sparse output, all columns should be a numeric"
    r"|expected to be encoded with values <"
)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Skips what the release that releases.sh tests with does not know."""
    try:
        return (yield)
    except (TypeError, ValueError) as refused:
        if "PGBOOST_EARLIER" in os.environ and LATER.search(str(refused)):
            pytest.skip(f"of a later scikit-learn: {refused}".splitlines()[0])
        raise


@pytest.fixture(autouse=True)
def separate(own_models: None) -> None:
    """Each test has its own models."""


@pytest.fixture
def same(connection: psycopg.Connection) -> Same:
    """Pushes a model as `model`, and asserts that SQL predicts the rows as its object does."""

    def pushed(model: Any, rows: Any, **options: Any) -> pgboost.Verification:
        pgboost.push(connection, "model", model, **{"allow_change": True, **options})
        found = pgboost.verify(connection, "model", model, rows)
        assert found and found.classes_differing == 0, found
        return found

    return pushed


@pytest.fixture
def identical(same: Same) -> Same:
    """Asserts the same, and that no row has another bit."""

    def pushed(model: Any, rows: Any, **options: Any) -> pgboost.Verification:
        found = same(model, rows, **options)
        assert found.differing == 0, found
        return found

    return pushed


@pytest.fixture
def refused(connection: psycopg.Connection) -> Refused:
    """Asserts that a push of a model is refused for a reason."""

    def pushed(
        reason: str, model: Any, kind: type = pgboost.UnsupportedModelError, **options: Any
    ) -> None:
        with pytest.raises(kind, match=reason):
            pgboost.push(connection, "model", model, **options)

    return pushed


@pytest.fixture
def spark(tmp_path: Path) -> Path:
    """The models that Spark has saved, a directory each, unpacked for the test, which may change them."""
    pytest.importorskip("pyarrow")
    with tarfile.open(FOLDER / "spark" / "saved.tar.xz") as archive:
        archive.extractall(tmp_path / "spark", filter="data")
    return tmp_path / "spark"


@pytest.fixture(params=[
    "string", "url", "psycopg", "psycopg2", "raw", "pool", "engine", "engine2", "core", "session", "scoped",
    "driver",
])  # fmt: skip
def given(cluster: Cluster, dbname: str, request: pytest.FixtureRequest) -> Iterator[Any]:
    """Yields each kind of connection."""
    conninfo = cluster.conninfo(dbname)
    if request.param == "string":
        yield conninfo
    elif request.param == "url":
        yield f"postgresql+psycopg2://postgres@/{dbname}?host={cluster.host}&port={cluster.port}"
    elif request.param == "psycopg":
        with psycopg.connect(conninfo) as connection:
            yield connection
    elif request.param == "raw":
        with psycopg.connect(conninfo, cursor_factory=psycopg.RawCursor) as connection:
            yield connection
    elif request.param == "pool":
        pools = pytest.importorskip("psycopg_pool")
        with pools.ConnectionPool(conninfo, min_size=1) as pool:
            yield pool
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
        elif request.param == "driver":
            fairy = engine.raw_connection()
            yield fairy
            fairy.close()
        elif request.param == "scoped":
            scope = scoped_session(sessionmaker(engine))
            yield scope
            scope.remove()
        else:
            with Session(engine) as session:
                yield session
        engine.dispose()
