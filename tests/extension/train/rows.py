"""Tables of numbers and texts in an order that a query can ask for, and models compared on them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from psycopg import Connection
from sklearn import datasets

from tests.connections import make_table


def copy_table(
    connection: Connection, name: str, columns: dict[str, tuple[str, Sequence[Any]]]
) -> None:
    """Makes a table of columns (type, values), and a column `id` with the number of the row."""
    connection.execute(f"DROP TABLE IF EXISTS {name}")
    declared = ", ".join(f'"{column}" {type_name}' for column, (type_name, _) in columns.items())
    rows = zip(*(values for _, values in columns.values()), strict=True)
    numbered = ([number, *map(_plain, row)] for number, row in enumerate(rows))
    make_table(connection, name, f"id integer, {declared}", numbered)


def _plain(value: Any) -> Any:
    return None if isinstance(value, float | np.floating) and np.isnan(value) else value


def number_columns(features: NDArray[np.float32]) -> dict[str, tuple[str, Sequence[Any]]]:
    """Columns x0, x1, ... of type real; NaN becomes NULL."""
    return {f"x{i}": ("real", column) for i, column in enumerate(features.T)}


def in_order(name: str, *columns: str) -> str:
    """A query of these columns in the order of the rows."""
    return f"SELECT {', '.join(columns)} FROM {name} ORDER BY id"


@dataclass(frozen=True)
class Rows:
    """Rows of a table: the names of their features, the query of them, and the texts of categories."""

    names: list[str]
    source: str
    categories: dict[str, list[str]] = field(default_factory=dict)


def store(
    connection: Connection, features: NDArray[np.float32], **others: tuple[str, Sequence[Any]]
) -> Rows:
    """Makes the table `rows` of features x0, x1, ... and of other columns."""
    numbers = number_columns(features)
    copy_table(connection, "rows", numbers | others)
    return Rows(list(numbers), in_order("rows", *numbers, *others))


def diabetes() -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The features and the target of scikit-learn's data set."""
    data = datasets.load_diabetes()
    return data.data.astype("f4"), data.target.astype("f4")


@dataclass(frozen=True)
class HeldOut:
    """Noisy rows, every fourth of which is held out of training, for SQL and for Python."""

    names: list[str]
    training: str
    evaluation: str
    arrays: dict[str, NDArray[np.float32]]


def held_out(connection: Connection) -> HeldOut:
    """Makes the table, with the queries of its two parts."""
    random = np.random.default_rng(8)
    features = random.normal(size=(1_000, 5)).astype("f4")
    label = (features[:, 0] + random.normal(size=1_000)).astype("f4")
    names = store(connection, features, y=("real", label)).names
    part = f"SELECT {', '.join([*names, 'y'])} FROM rows WHERE id % 4 {{}} 0 ORDER BY id"
    held = np.arange(1_000) % 4 == 0
    arrays = {
        "features": features[~held], "label": label[~held],
        "eval_features": features[held], "eval_label": label[held],
    }  # fmt: skip
    return HeldOut(names, part.format("<>"), part.format("="), arrays)


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
