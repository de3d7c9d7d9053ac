"""A database with both extensions for each module, and XGBoost in Python beside it.

The Python package is of the release that the extension trains with, out of the same wheel, and
runs in a process of its own: the package that the other tests import is of another release.
"""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest

from cluster import Cluster

REPOSITORY = Path(__file__).resolve().parents[2]
PACKAGE = REPOSITORY / ".build" / "xgboost"
PYTHON_SIDE = Path(__file__).with_name("python_side.py")
PYTHON_CV = Path(__file__).with_name("python_cv.py")


@pytest.fixture(scope="module")
def dbname(cluster: Cluster, request: pytest.FixtureRequest) -> str:
    """The module's own database, made anew, with both extensions in it."""
    name = request.module.__name__.rpartition(".")[2]
    cluster.create_database(name, replace=True)
    with cluster.connect(name) as connection:
        connection.execute("CREATE EXTENSION pgboost_train CASCADE")
    return name


@pytest.fixture
def python_side(tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """Trains in Python on arrays, and compares with the bytes of a model trained in SQL."""

    def run(
        model: bytes, arrays: dict[str, Any], start: bytes | None = None, **job: Any
    ) -> dict[str, Any]:
        (tmp_path / "model.ubj").write_bytes(model)
        if start:
            (tmp_path / "start.ubj").write_bytes(start)
        return _run(PYTHON_SIDE, tmp_path, arrays, job)

    return run


@pytest.fixture
def python_cv(tmp_path: Path) -> Callable[..., dict[str, list[float]]]:
    """Cross-validates in Python on arrays: the means and deviations of each metric, by round."""
    return lambda arrays, **job: _run(PYTHON_CV, tmp_path, arrays, job)


def _run(program: Path, directory: Path, arrays: dict[str, Any], job: dict[str, Any]) -> Any:
    np.savez(directory / "arrays.npz", **arrays)
    (directory / "job.json").write_text(json.dumps(job))
    done = subprocess.run(
        [sys.executable, str(program), str(PACKAGE), str(directory)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def raises(connection: psycopg.Connection) -> Callable[..., psycopg.errors.Diagnostic]:
    """Runs a statement that must fail with that SQLSTATE; gives what the server said."""

    def run(
        sqlstate: str, statement: str, arguments: Any = (), on: psycopg.Connection | None = None
    ) -> psycopg.errors.Diagnostic:
        with pytest.raises(psycopg.Error) as caught:
            (on or connection).execute(statement, arguments).fetchall()
        assert caught.value.sqlstate == sqlstate, caught.value
        return caught.value.diag

    return run
