"""Compares a model that was trained in SQL with Python's, and libxgboost's predictions with pgboost's."""

from typing import Any

import pytest
from psycopg import Connection


def assert_alike(found: dict[str, Any], scores: list[Any]) -> None:
    """The trees and margins are the same, and the scores of train_model are Python's, of its last round."""
    assert found["same_trees"]
    assert found["differing_margins"] == 0
    for set_name, metric, best_round, value in scores:
        assert best_round == found["rounds"]
        assert value == pytest.approx(found["scores"][set_name][metric], rel=1e-6)


def verified(connection: Connection, source: str, model: str = "m") -> tuple[int, int, int]:
    """Rows, those with other margins, and the largest distance."""
    query = "SELECT rows, differing, max_ulp FROM verify_model(%s, %s)"
    return connection.execute(query, (model, source)).fetchone()
