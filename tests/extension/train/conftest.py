"""A database with both extensions for each module, and XGBoost in Python to compare with.

The Python package is of the release that the extension trains with, out of the same wheel, and
runs in a separate process: the package that the other tests import is of another release. The process
does the jobs of a module one after the other, since importing XGBoost takes longer than most of them.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest
from psycopg import Connection, errors

from tools.cluster import Cluster

REPOSITORY = Path(__file__).resolve().parents[3]
PACKAGE = REPOSITORY / ".build" / "xgboost"
Raises = Callable[..., errors.Diagnostic]


@pytest.fixture(scope="module")
def dbname(cluster: Cluster, dbname: str) -> str:
    """The module's own database, newly created, with both extensions in it."""
    with cluster.connect(dbname) as connection:
        connection.execute("CREATE EXTENSION pgboost_train")
    return dbname


class PythonProgram:
    """A program that does a job for each line of its input, which names the job's directory."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("python_side.py")), str(PACKAGE)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def run(self, directory: Path, arrays: dict[str, Any], job: dict[str, Any]) -> Any:
        """Runs a job, and returns the output."""
        np.savez(directory / "arrays.npz", **arrays)
        (directory / "job.json").write_text(json.dumps(job))
        print(directory, file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline()
        assert answer, "the program has ended"
        return json.loads(answer)

    def end(self) -> None:
        """Ends it, after the last job."""
        self._process.stdin.close()
        self._process.wait()


@pytest.fixture(scope="module")
def program() -> Iterator[PythonProgram]:
    started = PythonProgram()
    yield started
    started.end()


@pytest.fixture
def python_side(tmp_path: Path, program: PythonProgram) -> Callable[..., dict[str, Any]]:
    """Trains in Python on arrays, and compares with the bytes of a model trained in SQL."""

    def run(
        model: bytes, arrays: dict[str, Any], start: bytes | None = None, **job: Any
    ) -> dict[str, Any]:
        (tmp_path / "model.ubj").write_bytes(model)
        if start:
            (tmp_path / "start.ubj").write_bytes(start)
        return program.run(tmp_path, arrays, job)

    return run


@pytest.fixture
def python_cv(tmp_path: Path, program: PythonProgram) -> Callable[..., dict[str, list[float]]]:
    """Cross-validates in Python on arrays: the means and deviations of each metric, by round."""
    return lambda arrays, **job: program.run(tmp_path, arrays, job)


@pytest.fixture
def no_model(connection: Connection) -> None:
    """Drops the model `m`."""
    connection.execute("SELECT drop_model('m') FROM pgboost_models WHERE name = 'm' LIMIT 1")


@pytest.fixture
def raises(connection: Connection) -> Raises:
    """Runs a statement that must fail with that SQLSTATE; returns the server's diagnostics."""

    def run(
        sqlstate: str, statement: str, arguments: Any = (), on: Connection | None = None
    ) -> errors.Diagnostic:
        with pytest.raises(psycopg.Error) as caught:
            (on or connection).execute(statement, arguments).fetchall()
        assert caught.value.sqlstate == sqlstate, caught.value
        return caught.value.diag

    return run
