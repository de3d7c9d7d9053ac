"""The extension in other schemas, and where libxgboost is not there."""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tools.cluster import Cluster
from tools.cluster.server import installed

SOURCE = "SELECT i AS a, i AS y FROM generate_series(1, 100) AS i"


@pytest.fixture
def library_alone() -> Iterator[Path]:
    """A folder with the extension's library and nothing next to it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copy(installed("--pkglibdir") / "pgboost_train.so", folder)
        folder.chmod(0o755)
        yield folder


@pytest.fixture
def empty(cluster: Cluster) -> str:
    """A database without extensions."""
    cluster.create_database("empty", replace=True)
    return "empty"


@pytest.mark.parametrize("missing", ["pgboost_trainer", "libxgboost"])
def test_a_missing_file_is_reported_with_a_hint(
    connect: Callable[..., Any], empty: str, library_alone: Path, missing: str
) -> None:
    if missing == "libxgboost":
        (library_alone / "pgboost_train").mkdir(mode=0o755)
        shutil.copy(
            installed("--pkglibdir") / "pgboost_train" / "pgboost_trainer",
            library_alone / "pgboost_train",
        )
    connection = connect(dbname=empty)
    connection.execute(f"SET dynamic_library_path = '{library_alone}:$libdir'")
    connection.execute("CREATE EXTENSION pgboost")
    with pytest.raises(psycopg.Error) as caught:
        connection.execute("CREATE EXTENSION pgboost_train")
    assert caught.value.sqlstate == "58P01"
    said = caught.value.diag
    assert said.message_primary == f"{missing} is not installed"
    assert str(library_alone / "pgboost_train") in said.message_detail
    assert "make install" in said.message_hint
    assert connection.execute("SELECT count(*) FROM pgboost_models").fetchone() == (0,)


def test_other_schemas(connect: Callable[..., Any], empty: str) -> None:
    connection = connect(dbname=empty)
    connection.execute('CREATE SCHEMA "odd one"; CREATE SCHEMA other')
    connection.execute('CREATE EXTENSION pgboost SCHEMA "odd one"')
    connection.execute("CREATE EXTENSION pgboost_train SCHEMA other")
    connection.execute("SELECT other.train_model('m', %s, 'y')", (SOURCE,))
    found = connection.execute("SELECT * FROM other.verify_model('m', %s)", (SOURCE,)).fetchone()
    assert found == (100, 0, 0)
    assert connection.execute("SELECT other.xgboost_predict('m', '{5}')").fetchone()
    assert connection.execute("SELECT * FROM other.pg_stat_progress_train_model").fetchall() == []


def test_dropping_it_leaves_the_models(connect: Callable[..., Any], empty: str) -> None:
    connection = connect(dbname=empty)
    connection.execute("CREATE EXTENSION pgboost_train CASCADE")
    connection.execute("SELECT train_model('m', %s, 'y')", (SOURCE,))
    connection.execute("DROP EXTENSION pgboost_train")
    assert connection.execute("SELECT round(predict('m', 50))").fetchone() == (50,)


def test_users_have_few_functions_and_those_that_only_read_run_in_parallel(
    connect: Callable[..., Any], empty: str
) -> None:
    """At most 50 of both extensions, besides the aggregates."""
    superuser = connect(dbname=empty)
    superuser.execute("CREATE EXTENSION pgboost_train CASCADE")
    functions = superuser.execute(
        "SELECT p.oid::regprocedure::text, p.provolatile <> 'v' AND p.proparallel <> 's'"
        " FROM pg_proc AS p JOIN pg_depend AS d ON d.objid = p.oid AND d.classid = 'pg_proc'::regclass"
        " JOIN pg_extension AS e ON e.oid = d.refobjid AND d.refclassid = 'pg_extension'::regclass"
        " WHERE e.extname ~ '^pgboost' AND d.deptype = 'e' AND p.prokind = 'f'"
        " AND p.pronamespace <> 'pgboost_catalog'::regnamespace"
    ).fetchall()
    assert 30 < len(functions) <= 50
    assert [name for name, serial in functions if serial] == []
