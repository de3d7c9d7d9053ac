"""Nodes that stop in the middle of a change, which then changes no node, and nodes that join the cluster.

A role without privileges for the models gains none by functions that run as the extension's owner.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest
from psycopg import Connection, errors

from tests.connections import Connect
from tests.extension.citus.conftest import Nodes, address, file_of
from tests.extension.packaging.conftest import attack
from tools.cluster import Cluster
from tools.cluster.server import bin_directory

LOAD = "SELECT load_model('price', %s)"
TRIGGERS = ("pgboost_make_change", "pgboost_registry_row_changed", "pgboost_registry_truncated")


def pg_ctl(node: Cluster, verb: str, *options: str) -> None:
    place = node.place
    place.run(bin_directory() / "pg_ctl", verb, "-D", place.data, "-w", *options)


@contextmanager
def stopped(node: Cluster) -> Iterator[None]:
    """Stops a server as a crash would, and starts it again with the options that it had."""
    place = node.place
    _, _, options = (place.data / "postmaster.opts").read_text().strip().partition(" ")
    pg_ctl(node, "stop", "-m", "immediate")
    try:
        yield
    finally:
        pg_ctl(node, "start", "-l", str(place.log), "-o", options)


def versions(nodes: Nodes) -> list[list[tuple]]:
    return nodes.each("SELECT version FROM pgboost_catalog.version ORDER BY 1")


@pytest.mark.parametrize("moment", ["before the load", "before the commit"])
def test_a_worker_dies(nodes: Nodes, connect: Connect, moment: str) -> None:
    with connect() as before:
        before.execute(LOAD, (file_of("price"),))
    expected = versions(nodes)
    connection = connect(autocommit=False)
    if moment == "before the commit":
        connection.execute(LOAD, (file_of("price"),))
    with stopped(nodes.workers[0]):
        with pytest.raises(psycopg.Error):
            connection.execute(LOAD, (file_of("price"),))
            connection.commit()
        connection.rollback()
    assert versions(nodes) == expected
    with connect() as after:
        after.execute(LOAD, (file_of("price"),))
        agree = after.execute("SELECT bool_and(same) FROM pgboost_check_nodes()").fetchone()
        assert agree == (True,)


def test_a_new_node_gets_its_models(nodes: Nodes, connection: Connection) -> None:
    """Before that it answers with an error."""
    for _ in range(2):
        connection.execute(LOAD, (file_of("price"),))
    connection.execute("SELECT citus_add_node(%s, %s)", address(nodes.spare))
    query = "SELECT predict('price', 90, 3, 20)"
    (expected,) = connection.execute(query).fetchone()
    with nodes.spare.connect(nodes.dbname) as new:
        with pytest.raises(errors.UndefinedObject, match='model "price" does not exist'):
            new.execute(query)
        connection.execute("SELECT pgboost_sync_nodes()")
        assert new.execute(query).fetchone() == (expected,)
        assert new.execute("SELECT predict('price@1', 90, 3, 20)").fetchone() == (expected,)
    checked = connection.execute("SELECT same FROM pgboost_check_nodes()").fetchall()
    assert checked == [(True,)] * 4
    connection.execute("SELECT citus_remove_node(%s, %s)", address(nodes.spare))


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
    loaded = "SELECT count(*) FROM pgboost_models WHERE name = 'm'"
    assert nodes.each(loaded) == [[(1,)]] * 3
