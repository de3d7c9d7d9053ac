"""pgboost from a directory that the server may only read, as CloudNativePG mounts an extension image.

PostgreSQL 18 finds control files along extension_control_path, and libraries along dynamic_library_path.
"""

import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.extension.packaging.releases import present_version
from tools.cluster import start, stop
from tools.cluster.server import installed

MODEL = Path(__file__).resolve().parents[1] / "sql" / "models" / "price.ubj"


@pytest.fixture
def image() -> Iterator[Path]:
    """A directory with the files of an extension image, read-only."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        scripts = root / "share" / "extension"
        scripts.mkdir(parents=True)
        (root / "lib").mkdir()
        shutil.copy(installed("--pkglibdir") / "pgboost.so", root / "lib")
        for file in ("pgboost.control", f"pgboost--{present_version()}.sql"):
            shutil.copy(installed("--sharedir") / "extension" / file, scripts)
        for path in (root, *root.rglob("*")):
            path.chmod(0o555 if path.is_dir() or path.suffix == ".so" else 0o444)
        yield root
        for path in (root, *root.rglob("*")):
            path.chmod(0o755)


def test_it_is_found_and_predicts(image: Path, tmp_path: Path) -> None:
    header = (installed("--includedir-server") / "pg_config.h").read_text()
    if int(re.search(r"PG_MAJORVERSION_NUM (\d+)", header)[1]) < 18:
        pytest.skip("extension_control_path is of PostgreSQL 18 and later")
    paths = {
        "extension_control_path": f"{image}/share:$system",
        "dynamic_library_path": f"{image}/lib:$libdir",
    }
    state = tmp_path / "image"
    running, _ = start(state, 54336, paths)
    try:
        with running.connect() as connection:
            connection.execute("CREATE EXTENSION pgboost")
            connection.execute("SELECT load_model('price', %s)", (MODEL.read_bytes(),))
            assert connection.execute("SELECT predict('price', 60, 4, 1)").fetchone() == (110,)
            backend = connection.info.backend_pid
            assert f"{image}/lib/pgboost.so" in Path(f"/proc/{backend}/maps").read_text()
    finally:
        stop(state, delete=True)
