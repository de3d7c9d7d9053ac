"""The present version, the releases before it, which are those that have a script, and how each is made."""

import tomllib
from pathlib import Path

import psycopg

EXTENSION = Path(__file__).resolve().parents[2] / "extension"
NAMES = ("pgboost", "pgboost_train")


def present_version() -> str:
    """The version in extension/Cargo.toml."""
    manifest = tomllib.loads((EXTENSION / "Cargo.toml").read_text())
    return manifest["workspace"]["package"]["version"]


def script(name: str, version: str) -> Path:
    """What CREATE EXTENSION runs for a version."""
    return EXTENSION / name / f"{name}--{version}.sql"


RELEASES = sorted(
    {
        path.stem.split("--")[1]
        for name in NAMES
        for path in (EXTENSION / name).glob(f"{name}--*.sql")
        if path.stem.count("--") == 1
    }
    - {present_version()}
)


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
