"""What the tests have in common."""

import pytest

from tools.cluster import Cluster


@pytest.fixture(autouse=True)
def no_model(cluster: Cluster, dbname: str) -> None:
    """Each test loads a model `m` of its kind, which takes no other kind's place."""
    with cluster.connect(dbname) as connection:
        models = "SELECT DISTINCT name FROM pgboost_models WHERE name = 'm'"
        connection.execute(f"SELECT drop_model(name) FROM ({models}) AS m")
