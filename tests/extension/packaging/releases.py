"""The present version, and an earlier one for tests of ALTER EXTENSION UPDATE.

No release precedes 1.0.0, so the earlier version exists in tests alone: it has all objects of the present
scripts but the last ones, which its update script makes.
"""

import fcntl
import os
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from tools.cluster.server import installed

EXTENSION = Path(__file__).resolve().parents[3] / "extension"
NAMES = ("pgboost", "pgboost_train")
EARLIER = "0.0.1"
# Objects that the update makes.
MADE_BY_UPDATE = 3


def present_version() -> str:
    """The version in extension/Cargo.toml."""
    manifest = tomllib.loads((EXTENSION / "Cargo.toml").read_text())
    return manifest["workspace"]["package"]["version"]


def script(name: str) -> Path:
    """The script of CREATE EXTENSION."""
    return EXTENSION / name / f"{name}.sql"


def earlier_scripts() -> dict[str, str]:
    """The text of each script of the earlier version, by its file's name."""
    scripts = {}
    for name in NAMES:
        statements = script(name).read_text().split("\nCREATE ")
        created, updated = statements[:-MADE_BY_UPDATE], statements[-MADE_BY_UPDATE:]
        scripts[f"{name}--{EARLIER}.sql"] = "\nCREATE ".join(created) + "\n"
        scripts[f"{name}--{EARLIER}--{present_version()}.sql"] = "".join(
            f"CREATE {statement}\n" for statement in updated
        )
    return scripts


@contextmanager
def alone_in(directory: Path) -> Iterator[None]:
    """Waits until no other process of the tests is in this block with the same directory."""
    opened = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX)
        yield
    finally:
        os.close(opened)


@contextmanager
def earlier_installed() -> Iterator[None]:
    """Installs the scripts of the earlier version, and removes them afterwards.

    Test processes share the server's directory; one that removed the scripts would take them from another.
    """
    directory = installed("--sharedir") / "extension"
    with alone_in(directory):
        files = {directory / name: text for name, text in earlier_scripts().items()}
        try:
            for file, text in files.items():
                file.write_text(text)
            yield
        finally:
            for file in files:
                file.unlink(missing_ok=True)


def create_extensions(
    connection: psycopg.Connection, version: str = "", schema: str = "public"
) -> None:
    """Makes both, of a version or of the present one."""
    clause = f"VERSION '{version}'" if version else ""
    for name in NAMES:
        connection.execute(f"CREATE EXTENSION {name} SCHEMA {schema} {clause}")


def update_extensions(connection: psycopg.Connection) -> None:
    """Updates both to the present version."""
    for name in NAMES:
        connection.execute(f"ALTER EXTENSION {name} UPDATE")
