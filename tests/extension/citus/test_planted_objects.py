"""A role without privileges for the models gains none by functions that run as the extension's owner."""

import pytest
from psycopg import Connection, errors

from tests.connections import Connect
from tests.extension.citus.conftest import Nodes, file_of
from tests.extension.packaging.conftest import attack

TRIGGERS = ("pgboost_make_change", "pgboost_registry_row_changed", "pgboost_registry_truncated")


@pytest.fixture(scope="module")
def role(nodes: Nodes) -> str:
    """May create objects in the extension's schema."""
    with nodes.coordinator.connect(nodes.dbname) as connection:
        connection.execute("CREATE ROLE outsider LOGIN")
        connection.execute("GRANT CREATE ON SCHEMA public TO outsider")
    return "outsider"


@pytest.fixture
def outsider(connect: Connect, role: str) -> Connection:
    return connect(user=role)


def test_tables_of_other_roles_cannot_have_the_triggers(outsider: Connection) -> None:
    outsider.execute("CREATE TABLE mine (registry_table text, operation text, content text)")
    for function in TRIGGERS:
        with pytest.raises(errors.InsufficientPrivilege):
            outsider.execute(
                f"CREATE TRIGGER t AFTER INSERT ON mine FOR EACH ROW EXECUTE FUNCTION {function}()"
            )
    with pytest.raises(errors.InsufficientPrivilege):
        outsider.execute(
            "SELECT pgboost_tell_nodes('pgboost_catalog.privilege', 'put', '(m,outsider,owner)')"
        )
    outsider.execute("DROP TABLE mine")


def test_a_table_of_another_role_carries_no_changes(
    nodes: Nodes, connection: Connection, outsider: Connection
) -> None:
    connection.execute("DROP EXTENSION pgboost_citus CASCADE; DROP TABLE pgboost_change")
    outsider.execute(
        "CREATE TABLE pgboost_change (id uuid, registry_table text, operation text, content text)"
    )
    outsider.execute(attack("attack", "", "trigger", schema="public"))
    outsider.execute(
        "CREATE TRIGGER t BEFORE INSERT ON pgboost_change FOR EACH STATEMENT EXECUTE FUNCTION attack()"
    )
    # Objects that the script's own expressions could refer to.
    outsider.execute(attack("format", "text, regclass", "text", schema="public"))
    connection.execute("CREATE EXTENSION pgboost_citus")
    with pytest.raises(errors.ObjectNotInPrerequisiteState):
        connection.execute("SELECT load_model('m', %s)", (file_of("price"),))
    with pytest.raises(errors.DuplicateTable):
        connection.execute("SELECT pgboost_sync_nodes()")
    outsider.execute("DROP TABLE pgboost_change; DROP FUNCTION format(text, regclass)")
    connection.execute("SELECT pgboost_sync_nodes()")
    connection.execute("SELECT load_model('m', %s)", (file_of("price"),))
    assert nodes.each("SELECT count(*) FROM pgboost_models") == [[(1,)]] * 3
