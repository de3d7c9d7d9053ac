"""Nodes that stop in the middle of a change, which then changes no node, and nodes that join the cluster."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest
from psycopg import Connection, errors

from tests.connections import Connect
from tests.extension.citus.conftest import Nodes, address, file_of
from tools.cluster import Cluster
from tools.cluster.server import bin_directory

LOAD = "SELECT load_model('price', %s)"


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
