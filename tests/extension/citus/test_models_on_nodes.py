"""A change of models on one node applies to all nodes or to none."""

import psycopg
import pytest
from psycopg import Connection, errors

from tests.connections import Connect
from tests.extension.citus.conftest import Nodes, file_of
from tests.extension.lifecycle.models import REAL_INPUTS, load_doubles

MODELS = "SELECT name, version, deployed, owner::text FROM pgboost_models ORDER BY 1, 2"
LOAD = "SELECT load_model(%s, %s)"


def on_all(nodes: Nodes, query: str = MODELS) -> list[tuple]:
    """The answer that all nodes give."""
    answers = nodes.each(query)
    assert answers == [answers[0]] * len(answers)
    return answers[0]


def agree(connection: Connection) -> list[bool]:
    return [same for (same,) in connection.execute("SELECT same FROM pgboost_check_nodes()")]


def test_load_deploy_grant_drop(nodes: Nodes, connection: Connection) -> None:
    connection.execute("CREATE ROLE reader LOGIN")
    for _ in range(2):
        connection.execute(LOAD, ("steps", file_of("price")))
    assert on_all(nodes) == [("steps", 1, False, "postgres"), ("steps", 2, True, "postgres")]
    connection.execute("SELECT deploy_model('steps@1')")
    assert on_all(nodes) == [("steps", 1, True, "postgres"), ("steps", 2, False, "postgres")]
    connection.execute("SELECT grant_model('steps', 'reader')")
    rights = "SELECT role::text, privilege FROM pgboost_catalog.privilege ORDER BY 2"
    assert on_all(nodes, rights) == [("postgres", "owner"), ("reader", "predict")]
    connection.execute("SELECT revoke_model('steps', 'reader')")
    assert on_all(nodes, rights) == [("postgres", "owner")]
    connection.execute("SELECT set_alias('steps@1', 'champion')")
    assert on_all(nodes, "SELECT alias, version FROM pgboost_catalog.alias") == [("champion", 1)]
    connection.execute("SELECT drop_alias('steps@champion')")
    connection.execute("SELECT drop_model('steps@2')")
    assert on_all(nodes) == [("steps", 1, True, "postgres")]
    assert agree(connection) == [True] * 3
    connection.execute("SELECT drop_model('steps')")
    assert on_all(nodes) == []
    assert on_all(nodes, "SELECT count(*) FROM pgboost_catalog.file_part") == [(0,)]
    connection.execute("DROP ROLE reader")


def test_real_input_is_on_all_nodes(nodes: Nodes, connection: Connection) -> None:
    query = load_doubles(connection, "doubles")
    assert on_all(nodes, query) == [(REAL_INPUTS,)]
    connection.execute("SELECT drop_model('doubles')")


def test_rollback(nodes: Nodes, connect: Connect) -> None:
    connection = connect(autocommit=False)
    connection.execute(LOAD, ("undone", file_of("price")))
    connection.rollback()
    assert on_all(nodes) == []


def test_prediction_in_the_transaction_that_loads(connect: Connect) -> None:
    connection = connect(autocommit=False)
    connection.execute("CREATE TABLE houses (id integer, area real, rooms real, age real)")
    connection.execute("SELECT create_distributed_table('houses', 'id')")
    connection.execute(
        "INSERT INTO houses SELECT i, i % 90, i % 5, i % 30 FROM generate_series(1, 999) AS i"
    )
    connection.commit()
    # Else Citus opens more connections to a node only while the first are slow.
    connection.execute("SET LOCAL citus.executor_slow_start_interval = 0")
    connection.execute(LOAD, ("seen", file_of("price")))
    query = "SELECT count(predict('seen', h.area, h.rooms, h.age)) FROM houses AS h"
    assert connection.execute(query).fetchone() == (999,)
    connection.rollback()


def test_load_on_a_worker(nodes: Nodes, connect: Connect) -> None:
    worker = connect(nodes.workers[0])
    worker.execute(LOAD, ("from_worker", file_of("price")))
    assert on_all(nodes) == [("from_worker", 1, True, "postgres")]
    worker.execute("SELECT drop_model('from_worker')")
    assert on_all(nodes) == []


def test_load_by_a_user(nodes: Nodes, connection: Connection, connect: Connect) -> None:
    connection.execute("CREATE ROLE loader LOGIN")
    connection.execute("GRANT EXECUTE ON FUNCTION load_model TO loader")
    connect(user="loader").execute(LOAD, ("theirs", file_of("price")))
    assert on_all(nodes) == [("theirs", 1, True, "loader")]
    for statement in (
        "SELECT pgboost_sync_nodes()",
        "INSERT INTO pgboost_change VALUES (gen_random_uuid(), 'model', 'keep', '[]')",
        "SELECT pgboost_tell_nodes('pgboost_catalog.model', 'keep', '[]')",
    ):
        with pytest.raises(errors.InsufficientPrivilege):
            connect(user="loader").execute(statement)
    connection.execute("SELECT drop_model('theirs')")
    connection.execute("REVOKE EXECUTE ON FUNCTION load_model FROM loader")
    connection.execute("DROP ROLE loader")


def test_a_node_that_refuses(nodes: Nodes, connection: Connection, connect: Connect) -> None:
    worker = connect(nodes.workers[1])
    worker.execute(
        "ALTER TABLE pgboost_catalog.model ADD CONSTRAINT never CHECK (name <> 'refused')"
    )
    # Citus reports a node's error under another SQLSTATE.
    with pytest.raises(psycopg.Error, match="violates check constraint"):
        connection.execute(LOAD, ("refused", file_of("price")))
    assert on_all(nodes) == []
    worker.execute("ALTER TABLE pgboost_catalog.model DROP CONSTRAINT never")
    connection.execute(LOAD, ("refused", file_of("price")))
    assert on_all(nodes) == [("refused", 1, True, "postgres")]
    connection.execute("SELECT drop_model('refused')")


def test_truncate(nodes: Nodes, connection: Connection) -> None:
    connection.execute(LOAD, ("gone", file_of("price")))
    connection.execute(
        "TRUNCATE pgboost_catalog.model, pgboost_catalog.version, pgboost_catalog.file_part,"
        " pgboost_catalog.privilege"
    )
    assert on_all(nodes) == []
    assert agree(connection) == [True] * 3


def test_a_node_with_other_models_is_named(
    nodes: Nodes, connection: Connection, connect: Connect
) -> None:
    connection.execute(LOAD, ("other", file_of("price")))
    worker = connect(nodes.workers[0])
    # As a restored backup of one node would: no trigger of pgboost_citus fires.
    worker.execute("SET session_replication_role = replica")
    other = "(SELECT id FROM pgboost_catalog.model WHERE name = 'other')"
    worker.execute(f"DELETE FROM pgboost_catalog.version WHERE model = {other}")
    assert agree(connection) == [True, False, True]
    connection.execute("SELECT pgboost_sync_nodes()")
    assert agree(connection) == [True] * 3
    assert on_all(nodes) == [("other", 1, True, "postgres")]
    connection.execute("SELECT drop_model('other')")


def test_the_registry_cannot_become_a_citus_table(connection: Connection) -> None:
    for kind in ("create_reference_table('{}')", "create_distributed_table('{}', 'name')"):
        with pytest.raises(psycopg.Error, match="because it has triggers"):
            connection.execute("SELECT " + kind.format("pgboost_catalog.model"))


def test_sync_on_a_worker(nodes: Nodes, connect: Connect) -> None:
    with pytest.raises(errors.ObjectNotInPrerequisiteState, match="must run on the coordinator"):
        connect(nodes.workers[0]).execute("SELECT pgboost_sync_nodes()")
