"""A database in whose schema another role may create objects."""

from collections.abc import Callable, Iterator

import pytest
from psycopg import Connection

from tests.connections import Connect
from tools.cluster import Cluster

# Opens a connection of that role.
Planted = Callable[[str], Connection]


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
