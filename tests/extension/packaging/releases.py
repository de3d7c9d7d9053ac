"""The present version and the earlier ones, whose scripts are in the repository."""

import tomllib
from pathlib import Path

from psycopg import Connection

EXTENSION = Path(__file__).resolve().parents[3] / "extension"
NAMES = ("pgboost", "pgboost_train")
EARLIER = "1.0.0"


def present_version() -> str:
    """The version in extension/Cargo.toml."""
    manifest = tomllib.loads((EXTENSION / "Cargo.toml").read_text())
    return manifest["workspace"]["package"]["version"]


def script(name: str) -> Path:
    """The script of CREATE EXTENSION."""
    return EXTENSION / name / f"{name}.sql"


def create_extensions(connection: Connection, version: str = "", schema: str = "public") -> None:
    """Makes both, of a version or of the present one."""
    clause = f"VERSION '{version}'" if version else ""
    for name in NAMES:
        connection.execute(f"CREATE EXTENSION {name} SCHEMA {schema} {clause}")


def update_extensions(connection: Connection) -> None:
    """Updates both to the present version."""
    for name in NAMES:
        connection.execute(f"ALTER EXTENSION {name} UPDATE")
