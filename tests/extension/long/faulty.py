"""A server whose libraries fail or wait at places that a session names: extension/pg_interface/src/fault.rs.

They are built for this alone, and the server finds them first in dynamic_library_path.
"""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.extension.lifecycle.conftest import PREFERRED_PORT
from tests.extension.lifecycle.models import grown, load
from tools.cluster import Cluster, start, stop
from tools.cluster.server import installed

ROOT = Path(__file__).resolve().parents[3]
STATE = ROOT / ".test" / "faults"
BUILT = ROOT / ".build" / "faults"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A server with the libraries that fail, three models, rows, and a file of two parts."""
    variables = os.environ | {"PGBOOST_FAULTS": "1"}
    subprocess.run(["tools/toolchain/build.sh"], cwd=ROOT, env=variables, check=True)
    libraries = _libraries()
    stop(STATE, delete=True)
    running, _ = start(
        STATE, PREFERRED_PORT, {"dynamic_library_path": f"{libraries}:$libdir", "jit": "off"}
    )
    with running.connect() as connection:
        connection.execute("CREATE EXTENSION pgboost_train CASCADE")
        for seed, name in enumerate(("m", "m", "unseen")):
            load(connection, name, grown(30, 6, seed=seed))
        connection.execute("CREATE TABLE file (content bytea)")
        connection.execute("INSERT INTO file VALUES (%s)", (grown(400, 8, seed=2),))
        values = ", ".join(f"random()::real AS f{i + 1}" for i in range(10))
        connection.execute(f"CREATE TABLE rows AS SELECT {values} FROM generate_series(1, 2000)")
        connection.execute(
            "CREATE TABLE kept (f1 real); CREATE TRIGGER kept BEFORE INSERT ON kept FOR EACH ROW"
            " EXECUTE FUNCTION pgboost_maintain_score('a', 'b', 'c', 'd')"
        )
        load(connection, "classes", _classes())
        connection.execute("SELECT set_alias('m@2', 'best')")
        connection.execute("SELECT set_baseline('m', 'rows')")
    yield running
    stop(STATE, delete=True)


def _classes() -> bytes:
    content = grown(30, 6).replace(b"reg:squarederror", b"binary:logistic")
    return content.replace(b'"base_score": "0E0"', b'"base_score": "5E-1"')


def _libraries() -> Path:
    """A folder like PostgreSQL's, with the libraries and the files next to them."""
    folder = BUILT / "libraries"
    folder.mkdir(exist_ok=True)
    found = {
        f"{name}.so": BUILT / "release" / f"lib{name}.so" for name in ("pgboost", "pgboost_train")
    }
    for name, target in (
        found | {"pgboost_train": installed("--pkglibdir") / "pgboost_train"}
    ).items():
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(target)
    return folder
