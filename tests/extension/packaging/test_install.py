"""`make install`: the installed files, and the messages for missing tools."""

import os
import resource
import subprocess
from pathlib import Path

import pytest

from tests.extension.packaging.releases import present_version
from tools.cluster.server import installed

REPOSITORY = Path(__file__).resolve().parents[3]
OLD_RUST = """#!/bin/sh
echo rustc 1.63.0
"""
NEW_RUST = """#!/bin/sh
[ "$1" = --version ] && echo rustc 1.999.0 && exit
echo "started a build" >&2
exit 1
"""
# rustup's command on the path, which is there without the component too.
RUSTFMT_OF_RUSTUP = """#!/bin/sh
echo "error: 'rustfmt' is not installed for the toolchain" >&2
exit 1
"""
OTHER_POSTGRESQL = """#!/bin/sh
[ "$1" = --version ] && echo PostgreSQL 14.2
"""
# Bytes that a file may have, for a disk that is full: less than a library, more than what cargo writes for a
# build that is up to date.
FULL = 1_000_000


def run(
    script: str, largest: int = resource.RLIM_INFINITY, **environment: str
) -> subprocess.CompletedProcess[str]:
    """The output and the status of a script of the toolchain, with a limit of the size of files."""
    return subprocess.run(
        [REPOSITORY / "tools" / "toolchain" / script],
        env=os.environ | environment, capture_output=True, text=True, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest)),
    )  # fmt: skip


def write_program(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """A path with the system's tools and without Rust."""
    for directory in ("/usr/bin", "/bin"):
        for tool in Path(directory).iterdir():
            link = tmp_path / tool.name
            if tool.name not in ("cargo", "rustc", "rustfmt") and not link.is_symlink():
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
        assert f"{scripts}/extension/{name}--{present_version()}.sql" in found
    assert f"{libraries}/pgboost_train/pgboost_trainer" in found
    assert f"{libraries}/pgboost_train/xgboost/lib/libxgboost.so" in found
    assert (tmp_path / libraries / "pgboost.so").stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize(
    ("programs", "said"),
    [
        ({}, ["no cargo found", "rustup.rs"]),
        (
            dict.fromkeys(("cargo", "rustc"), OLD_RUST),
            ["Rust 1.96 or later is needed", "is 1.63.0"],
        ),
        (
            dict.fromkeys(("cargo", "rustc"), NEW_RUST),
            ["no rustfmt found", "rustup component add rustfmt"],
        ),
        (
            dict.fromkeys(("cargo", "rustc"), NEW_RUST) | {"rustfmt": RUSTFMT_OF_RUSTUP},
            ["no rustfmt found"],
        ),
    ],
    ids=["no Rust", "old Rust", "no rustfmt", "rustfmt not installed"],
)
def test_missing_rust_is_named_before_the_build(
    tools: Path, programs: dict[str, str], said: list[str]
) -> None:
    for tool, text in programs.items():
        write_program(tools / tool, text)
    done = run("build.sh", PATH=str(tools), SUDO_USER="nobody")
    assert done.returncode == 1
    assert all(words in done.stderr for words in said), done.stderr
    assert "started a build" not in done.stderr


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


@pytest.mark.parametrize("script", ["build.sh", "install.sh"])
def test_another_program_than_pg_config_is_called_that(script: str) -> None:
    done = run(script, PG_CONFIG="/bin/ls")
    assert done.returncode == 1
    assert "error: /bin/ls is no pg_config" in done.stderr
    assert "GNU" not in done.stderr


def test_a_name_without_a_directory_is_looked_for_on_the_path(tmp_path: Path) -> None:
    write_program(tmp_path / "pg_config", OTHER_POSTGRESQL)
    done = run("build.sh", PG_CONFIG="pg_config", PATH=f"{tmp_path}:{os.environ['PATH']}")
    assert done.returncode == 1
    assert "PostgreSQL 14 is not supported" in done.stderr
    assert "one of 15 16 17 18" in done.stderr


def test_where_it_may_not_write_it_says_so_before_the_build(tools: Path) -> None:
    for tool in ("cargo", "rustc", "rustfmt"):
        write_program(tools / tool, NEW_RUST)
    (tools / "file").touch()
    done = run("install.sh", PATH=str(tools), DESTDIR=str(tools / "file"))
    assert done.returncode == 1
    assert done.stderr.startswith(f"error: cannot write to {tools}/file/")
    assert "run this as root" in done.stderr


def test_on_a_full_disk_the_library_that_was_there_stays(tmp_path: Path) -> None:
    assert run("build.sh").returncode == 0
    library = tmp_path / str(installed("--pkglibdir")).lstrip("/") / "pgboost.so"
    library.parent.mkdir(parents=True)
    library.write_text("the one before")
    done = run("install.sh", largest=FULL, DESTDIR=str(tmp_path))
    assert done.returncode == 1
    assert f"error: {library} could not be written" in done.stderr
    assert library.read_text() == "the one before"
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [library]
