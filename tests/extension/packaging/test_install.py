"""`make install`: the installed files, each function of the libraries, and the messages for missing tools.

pgrx writes no SQL for these extensions (each function says `sql = false`), so what its macros declare is the
function's symbol and its pg_finfo_ record. A script that names a symbol that the library does not have fails
in CREATE EXTENSION; a function that no script names is found here.
"""

import os
import re
import resource
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.extension.packaging.conftest import EXTENSION, NAMES, PRESENT, ROOT, script
from tools.cluster import start, stop
from tools.cluster.server import installed

MODEL = ROOT / "tests" / "extension" / "sql" / "models" / "price.ubj"
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
        [ROOT / "tools" / "toolchain" / script],
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
    for name in NAMES:
        assert f"{libraries}/{name}.so" in found
        assert f"{scripts}/extension/{name}.control" in found
        assert f"{scripts}/extension/{name}--{PRESENT}.sql" in found
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


def test_what_changed_since_no_commit_is_not_checked() -> None:
    done = run("check.sh", BASE="nothing")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "error: BASE names no commit: nothing\n"


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


@pytest.mark.parametrize("name", NAMES)
def test_each_function_of_the_library_is_declared(name: str) -> None:
    library = installed("--pkglibdir") / f"{name}.so"
    listed = subprocess.run(
        ["nm", "--dynamic", "--defined-only", library], capture_output=True, text=True, check=True
    )
    functions = set(re.findall(r" pg_finfo_(\w+)$", listed.stdout, re.MULTILINE))
    scripts = "".join(path.read_text() for path in (EXTENSION / name).glob("*.sql"))
    declared = re.findall(r"AS 'MODULE_PATHNAME', '(\w+)'", scripts)
    assert functions == set(declared)


@pytest.mark.parametrize("name", NAMES)
def test_the_installed_script_is_the_repositorys(name: str) -> None:
    path = installed("--sharedir") / "extension" / f"{name}--{PRESENT}.sql"
    assert path.read_bytes() == script(name).read_bytes()


@pytest.fixture
def image() -> Iterator[Path]:
    """A directory with the files of an extension image, read-only."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        scripts = root / "share" / "extension"
        scripts.mkdir(parents=True)
        (root / "lib").mkdir()
        shutil.copy(installed("--pkglibdir") / "pgboost.so", root / "lib")
        for file in ("pgboost.control", f"pgboost--{PRESENT}.sql"):
            shutil.copy(installed("--sharedir") / "extension" / file, scripts)
        for path in (root, *root.rglob("*")):
            path.chmod(0o555 if path.is_dir() or path.suffix == ".so" else 0o444)
        yield root
        for path in (root, *root.rglob("*")):
            path.chmod(0o755)


def test_it_predicts_from_a_read_only_directory(image: Path, tmp_path: Path) -> None:
    """As CloudNativePG mounts an extension image: from PostgreSQL 18 on, along two paths."""
    header = (installed("--includedir-server") / "pg_config.h").read_text()
    if int(re.search(r"PG_MAJORVERSION_NUM (\d+)", header)[1]) < 18:
        pytest.skip("PostgreSQL has no extension_control_path before 18")
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
