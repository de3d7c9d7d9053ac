"""A node that joins the cluster gets its models; before that it answers with an error."""

import pytest
from psycopg import Connection, errors

from tests.extension.citus.conftest import Nodes, file_of


def test_new_node(nodes: Nodes, connection: Connection) -> None:
    connection.execute("SELECT load_model('price', %s)", (file_of("price"),))
    connection.execute("SELECT load_model('price', %s)", (file_of("price"),))
    connection.execute("SELECT citus_add_node(%s, %s)", nodes.spare.address)
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
    connection.execute("SELECT citus_remove_node(%s, %s)", nodes.spare.address)
