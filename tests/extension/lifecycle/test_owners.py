"""Functions of models, and models of dropped owners: nobody loses objects, and each model has an owner."""

import pytest
from psycopg import Connection, errors, sql

from tests.connections import Connect
from tests.extension.lifecycle.models import constant, drop_all, load, one

ROLES = ("alice", "bob", "carl", "dora")


@pytest.fixture(autouse=True)
def roles(connection: Connection, connect: Connect) -> None:
    drop_all(connection)
    connection.execute("GRANT CREATE ON SCHEMA public TO public")
    for role in ROLES:
        connect(role, new=True)
        connection.execute(
            "GRANT EXECUTE ON FUNCTION load_model, drop_model, deploy_model, create_predict_function"
            f" TO {role}"
        )


def signature(connection: Connection) -> str:
    return one(connection, "SELECT oid::regprocedure::text FROM pg_proc WHERE proname = 'scored'")


def is_there(connection: Connection) -> bool:
    return one(connection, "SELECT count(*) FROM pg_proc WHERE proname = 'scored'") == 1


def namesake(owner: Connection, other: Connection, body: str) -> None:
    """Makes a function of the owner's model, which the owner drops and another role makes again."""
    load(owner, "am", constant(1))
    owner.execute("SELECT create_predict_function('am', 'scored')")
    written = signature(owner)
    owner.execute(f"DROP FUNCTION {written}")
    argument = written.partition("(")[2].rstrip(")")
    other.execute(
        sql.SQL(
            "CREATE FUNCTION scored(f0 {} DEFAULT NULL) RETURNS real LANGUAGE sql RETURN {}"
        ).format(sql.SQL(argument), sql.SQL(body))
    )


# Bodies that another role can write: one, and the same as that of the model's function.
@pytest.mark.parametrize(
    ("maker", "user", "body"),
    [
        ("bob", "alice", "1"),
        ("bob", "alice", "predict('am', f0)"),
        ("bob", "postgres", "1"),
        ("bob", "postgres", "predict('am', f0)"),
        ("alice", "alice", "1"),
    ],
)
def test_a_function_of_that_name_made_anew_stays(
    connect: Connect, connection: Connection, maker: str, user: str, body: str
) -> None:
    """It does not keep anybody from dropping the model."""
    namesake(connect("alice"), connect(maker), body)
    connect(user).execute("SELECT drop_model('am')")
    assert one(connection, "SELECT count(*) FROM pgboost_models") == 0
    assert is_there(connection)
    assert one(connection, "SELECT count(*) FROM pgboost_catalog.function") == 0


@pytest.mark.parametrize("user", ["alice", "carl", "postgres"])
def test_the_models_own_function_is_dropped(
    connect: Connect, connection: Connection, user: str
) -> None:
    """By its owner, who may not look into its schema any more, by a member and by a superuser."""
    connection.execute("CREATE SCHEMA IF NOT EXISTS lent; GRANT ALL ON SCHEMA lent TO alice")
    connection.execute("GRANT alice TO carl")
    alice = connect("alice")
    load(alice, "am", constant(1))
    alice.execute("SELECT create_predict_function('am', 'scored', 'lent')")
    connection.execute("REVOKE ALL ON SCHEMA lent FROM alice")
    connect(user).execute("SELECT drop_model('am')")
    assert not is_there(connection)
    connection.execute("DROP SCHEMA lent")


def test_another_members_function_keeps_no_owner_from_dropping(
    connect: Connect, connection: Connection
) -> None:
    connection.execute("GRANT alice TO carl")
    load(connect("alice"), "am", constant(1))
    connect("carl").execute("SELECT create_predict_function('am', 'scored')")
    connect("alice").execute("SELECT drop_model('am')")
    assert is_there(connection)


def test_a_function_of_another_role_is_not_replaced(
    connect: Connect, connection: Connection
) -> None:
    """Nor is it dropped after the model's features have changed."""
    alice, bob = connect("alice"), connect("bob")
    namesake(alice, bob, "1")
    with pytest.raises(errors.InsufficientPrivilege):
        alice.execute("SELECT create_predict_function('am', 'scored', replace => true)")
    connection.execute(
        "UPDATE pgboost_catalog.function SET function = 'public.scored(pg_catalog.int4)'"
    )
    bob.execute("CREATE FUNCTION scored(f0 integer) RETURNS real LANGUAGE sql RETURN 1")
    with pytest.raises(errors.InsufficientPrivilege):
        alice.execute("SELECT create_predict_function('am', 'scored', replace => true)")
    assert one(connection, "SELECT to_regprocedure('scored(integer)') IS NOT NULL")


def test_a_function_that_is_gone_keeps_no_name(connect: Connect) -> None:
    alice, bob = connect("alice"), connect("bob")
    namesake(alice, bob, "predict('am', f0)")
    alice.execute("SELECT rename_model('am', 'renamed')")
    alice.execute("SELECT create_predict_function('renamed', 'of_am')")
    with pytest.raises(errors.ObjectInUse):
        alice.execute("SELECT rename_model('renamed', 'am')")


def owner(connection: Connection, name: str) -> str:
    return one(connection, "SELECT owner::text FROM pgboost_models WHERE name = %s", (name,))


def test_a_model_of_a_dropped_owner_gets_another(connect: Connect, connection: Connection) -> None:
    """REASSIGN OWNED does not apply to models: the extension's owner gets them, with the next load."""
    carl = connect("carl")
    load(carl, "carls", constant(1))
    carl.execute("SELECT create_predict_function('carls', 'scored')")
    carl.execute("SELECT grant_model('carls', 'dora')")
    carl.close()
    connection.execute("REASSIGN OWNED BY carl TO dora")
    connection.execute("DROP OWNED BY carl")
    connection.execute("DROP ROLE carl")
    load(connect("alice"), "other", constant(2))
    assert owner(connection, "carls") == "postgres"
    assert one(connection, "SELECT model_info('carls') ->> 'owner'") == "postgres"
    assert one(connect("dora"), "SELECT predict('carls', 1)") == 1
    connection.execute("SELECT set_model_owner('carls', 'dora')")
    load(connect("dora"), "carls", constant(3))
    connect("dora").execute("SELECT drop_model('carls')")
    assert not is_there(connection)
