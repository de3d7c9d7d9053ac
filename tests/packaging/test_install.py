"""`make install`: what it installs and where, and what it says where something is missing."""

import os
import subprocess
from pathlib import Path

import pytest

from cluster.server import installed

REPOSITORY = Path(__file__).resolve().parents[2]
OLD_RUST = """#!/bin/sh
echo rustc 1.63.0
"""


def run(script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """What a script of the toolchain says and how it ends."""
    return subprocess.run(
        [REPOSITORY / "toolchain" / script],
        env=os.environ | environment, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """A path with the system's tools and without Rust."""
    for directory in ("/usr/bin", "/bin"):
        for tool in Path(directory).iterdir():
            link = tmp_path / tool.name
            if tool.name not in ("cargo", "rustc") and not link.is_symlink():
                link.symlink_to(tool)
    return tmp_path


def test_with_destdir_everything_goes_below_it(tmp_path: Path) -> None:
    done = run("install.sh", DESTDIR=str(tmp_path))
    assert done.returncode == 0, done.stderr
    found = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    libraries, scripts = (
        str(installed(option)).lstrip("/") for option in ("--pkglibdir", "--sharedir")
    )
    for name in ("pgboost", "pgboost_train"):
        assert f"{libraries}/{name}.so" in found
        assert f"{scripts}/extension/{name}.control" in found
        assert f"{scripts}/extension/{name}--0.1.0.sql" in found
        assert f"{scripts}/extension/{name}--0.1.0--0.2.0.sql" in found
    assert f"{libraries}/pgboost_train/pgboost_trainer" in found
    assert f"{libraries}/pgboost_train/xgboost/lib/libxgboost.so" in found
    assert (tmp_path / libraries / "pgboost.so").stat().st_mode & 0o777 == 0o755


def test_without_rust_it_says_where_to_get_it(tools: Path) -> None:
    done = run("build.sh", PATH=str(tools), SUDO_USER="nobody")
    assert done.returncode == 1
    assert "no cargo found" in done.stderr
    assert "rustup.rs" in done.stderr


def test_an_old_rust_is_named_with_the_version_that_is_needed(tools: Path) -> None:
    for tool in ("cargo", "rustc"):
        (tools / tool).write_text(OLD_RUST)
        (tools / tool).chmod(0o755)
    done = run("build.sh", PATH=str(tools))
    assert done.returncode == 1
    assert "Rust 1.96 or later is needed" in done.stderr
    assert "is 1.63.0" in done.stderr


def test_without_a_server_it_says_which_packages_bring_one(tmp_path: Path) -> None:
    done = run("build.sh", PG_CONFIG=str(tmp_path / "pg_config"))
    assert done.returncode == 1
    assert f"there is no PostgreSQL at {tmp_path}/pg_config" in done.stderr
    assert "postgresql-server-dev-" in done.stderr


def test_packages_for_another_postgresql_are_named_and_not_installed(tmp_path: Path) -> None:
    done = run("packages.sh", PG_CONFIG=str(tmp_path / "pg_config"))
    assert done.returncode == 1
    assert done.stderr.startswith(
        "error: missing, by the names of Debian's packages: postgresql-15"
    )
