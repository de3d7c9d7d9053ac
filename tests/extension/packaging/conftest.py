"""The present version and the earlier one, whose scripts the repository has, and a database in whose schema
another role may create objects."""

import tomllib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from psycopg import Connection

from tests.connections import Connect
from tools.cluster import Cluster

ROOT = Path(__file__).resolve().parents[3]
EXTENSION = ROOT / "extension"
MANIFEST = tomllib.loads((EXTENSION / "Cargo.toml").read_text())
PRESENT = MANIFEST["workspace"]["package"]["version"]
EARLIER = "1.0.0"
NAMES = ("pgboost", "pgboost_train")
SCHEMA = "planted"
# Opens a connection of that role.
Planted = Callable[[str], Connection]


def script(name: str) -> Path:
    """The script of CREATE EXTENSION."""
    return EXTENSION / name / f"{name}.sql"


def create_extensions(connection: Connection, version: str = "", schema: str = "public") -> None:
    """Makes both, of a version or of the present one."""
    clause = f"VERSION '{version}'" if version else ""
    for name in NAMES:
        connection.execute(f"CREATE EXTENSION {name} SCHEMA {schema} {clause}")


created = partial(create_extensions, schema=SCHEMA)


def update_extensions(connection: Connection) -> None:
    """Updates both to the present version."""
    for name in NAMES:
        connection.execute(f"ALTER EXTENSION {name} UPDATE")


def attack(name: str, arguments: str, returns: str, schema: str = SCHEMA) -> str:
    """Makes a function of the attacker's, which ends what calls it."""
    body = "BEGIN RAISE EXCEPTION 'attacked as %', current_user; END"
    return f"CREATE FUNCTION {schema}.{name}({arguments}) RETURNS {returns} LANGUAGE plpgsql AS $${body}$$"


@pytest.fixture
def planted(connect: Connect, cluster: Cluster) -> Iterator[Planted]:
    """A new database, in whose schema `planted` the role `planter` may create objects."""
    admin = connect(dbname="postgres")
    admin.execute("DROP ROLE IF EXISTS planter; CREATE ROLE planter LOGIN")
    cluster.create_database("planted", replace=True)
    superuser = connect(dbname="planted")
    superuser.execute("CREATE SCHEMA planted; GRANT USAGE, CREATE ON SCHEMA planted TO planter")
    yield lambda user: connect(dbname="planted", user=user)
    superuser.execute("DROP OWNED BY planter CASCADE")
    admin.execute("DROP ROLE planter")


@pytest.fixture
def superuser(planted: Planted) -> Connection:
    return planted("postgres")


@pytest.fixture
def attacker(planted: Planted) -> Connection:
    return planted("planter")
