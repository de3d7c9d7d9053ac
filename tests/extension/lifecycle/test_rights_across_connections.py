"""A revoked privilege has no effect from the next statement of every connection on, cached or not."""

from collections.abc import Iterator

import psycopg
import pytest
from psycopg import Connection, errors

from tests.connections import Connect
from tests.extension.lifecycle.models import constant, load, one, value

OWNED_BY = "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I OWNER TO {}', current_database()); END $$"
# From PostgreSQL 16 on, a grant inherits or not as the role did when it was granted.
NO_LONGER_INHERITED = """
BEGIN;
ALTER ROLE lifecycle_user NOINHERIT;
REVOKE lifecycle_group FROM lifecycle_user;
GRANT lifecycle_group TO lifecycle_user;
COMMIT;
"""


@pytest.fixture(autouse=True)
def roles(connection: Connection, connect: Connect) -> Iterator[None]:
    """A user, a group and an owner; the owner's model m answers 1."""
    for role in ("lifecycle_user", "lifecycle_group"):
        connect(role, new=True)
    owner = connect("lifecycle_owner", new=True)
    connection.execute("GRANT EXECUTE ON FUNCTION load_model, drop_model TO lifecycle_owner")
    load(owner, "m", constant(1))
    yield
    connection.execute("SELECT drop_model('m')")


def denied(connection: Connection) -> bool:
    """Returns whether the use of m is denied; any other error fails the test."""
    try:
        assert value(connection) == 1
    except errors.InsufficientPrivilege as error:
        assert error.diag.message_primary == 'permission denied for model "m"'
        return True
    return False


TO_GROUP = "SELECT grant_model('m', 'lifecycle_group'); GRANT lifecycle_group TO lifecycle_user"
GRANTS = {
    "to the user": (
        "SELECT grant_model('m', 'lifecycle_user')", "SELECT revoke_model('m', 'lifecycle_user')",
    ),
    "to all": ("SELECT grant_model('m', 'public')", "SELECT revoke_model('m', 'public')"),
    "to the group": (TO_GROUP, "SELECT revoke_model('m', 'lifecycle_group')"),
    "membership": (TO_GROUP, "REVOKE lifecycle_group FROM lifecycle_user"),
    "inheritance": (TO_GROUP, NO_LONGER_INHERITED),
    "owner of the database": (
        f"SELECT grant_model('m', 'pg_database_owner'); {OWNED_BY.format('lifecycle_user')}",
        OWNED_BY.format("postgres"),
    ),
    "superuser": (
        "ALTER ROLE lifecycle_user SUPERUSER", "ALTER ROLE lifecycle_user NOSUPERUSER",
    ),
    "the owner's": (
        "GRANT lifecycle_owner TO lifecycle_user", "REVOKE lifecycle_owner FROM lifecycle_user",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("grant", "revoke"), GRANTS.values(), ids=GRANTS)
def test_a_right_comes_and_goes(connect: Connect, grant: str, revoke: str) -> None:
    admin, user = connect(), connect(user="lifecycle_user")
    user.execute("PREPARE p AS SELECT predict('m', 1)")
    assert denied(user)
    admin.execute(grant)
    for _ in range(3):
        assert not denied(user)
    assert one(user, "EXECUTE p") == 1
    admin.execute(revoke)
    assert denied(user)
    with pytest.raises(errors.InsufficientPrivilege):
        one(user, "EXECUTE p")


def test_a_revoke_counts_when_it_is_committed(connect: Connect) -> None:
    admin, user = connect(autocommit=False), connect(user="lifecycle_user")
    admin.execute("SELECT grant_model('m', 'lifecycle_user')")
    assert denied(user)
    admin.commit()
    assert not denied(user)
    admin.execute("SELECT revoke_model('m', 'lifecycle_user')")
    assert not denied(user)
    admin.rollback()
    assert not denied(user)
    admin.execute("SELECT revoke_model('m', 'lifecycle_user')")
    admin.commit()
    assert denied(user)


def test_a_revoke_counts_within_a_transaction_that_reads_repeatably(connect: Connect) -> None:
    """As with PostgreSQL's own privileges, the snapshot determines the visible rows, not the privileges."""
    admin, user = connect(), connect(user="lifecycle_user", autocommit=False)
    admin.execute("SELECT grant_model('m', 'lifecycle_user')")
    user.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    assert not denied(user)
    admin.execute("SELECT revoke_model('m', 'lifecycle_user')")
    assert denied(user)


def test_one_backend_serves_several_roles(connect: Connect) -> None:
    """The state that a backend keeps for one role does not serve the next."""
    admin, shared = connect(), connect()
    admin.execute("SELECT grant_model('m', 'lifecycle_group')")
    for role, expected in (
        ("lifecycle_owner", False), ("lifecycle_user", True), ("lifecycle_group", False),
        ("lifecycle_user", True), ("lifecycle_owner", False),
    ):  # fmt: skip
        shared.execute(f"SET ROLE {role}")
        assert denied(shared) is expected, role
        shared.execute("RESET ROLE")
        assert not denied(shared)


def test_a_role_that_is_renamed_keeps_its_rights(connect: Connect) -> None:
    admin, user = connect(), connect(user="lifecycle_user")
    admin.execute("SELECT grant_model('m', 'lifecycle_user')")
    assert not denied(user)
    admin.execute("ALTER ROLE lifecycle_user RENAME TO lifecycle_renamed")
    try:
        assert not denied(user)
        assert not denied(connect(user="lifecycle_renamed"))
    finally:
        admin.execute("ALTER ROLE lifecycle_renamed RENAME TO lifecycle_user")
