"""predict_contribs and predict_interactions are equal to XGBoost's.

XGBoost's own error is some millionths of the largest contribution, and so is what is allowed here.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import psycopg
import pytest
from psycopg import sql

from tests.extension.e2e.datasets import Dataset, load
from tests.extension.e2e.explained import explained
from tests.extension.e2e.reference import floats, model_bytes, train
from tools.cluster import Cluster

# Of the largest contribution's size.
NEAR = 1e-5
# Each number of a row's sum is rounded to real once, and so is the margin.
ROUNDING = 2.0**-23
FORMS = ("columns", "array", "row", "jsonb")
CASES = {
    "logistic": ("breast_cancer", {"objective": "binary:logistic"}),
    "softprob": ("wine", {"objective": "multi:softprob", "num_class": 3, "num_parallel_tree": 2}),
    "pruned": ("diabetes", {"objective": "reg:squarederror", "gamma": 40000, "max_depth": 8}),
    "dart": ("diabetes", {"objective": "reg:squarederror", "booster": "dart", "rate_drop": 0.5}),
    "poisson": ("diabetes", {"objective": "count:poisson", "max_depth": 3}),
}


@dataclass(frozen=True)
class Explained:
    """A data set in a table, its model loaded as m, and XGBoost's explanations of its rows."""

    connection: psycopg.Connection
    dataset: Dataset
    expected: dict[str, np.ndarray]

    def ask(self, function: str, form: str) -> np.ndarray:
        """The function's results for all rows, in one of the forms of its arguments."""
        columns = sql.SQL(", ").join(sql.Identifier(name) for name in self.dataset.names)
        features = {
            "columns": columns,
            "array": sql.SQL("ARRAY[{}]").format(columns),
            "row": sql.SQL("t"),
            "jsonb": sql.SQL("to_jsonb(t)"),
        }
        query = sql.SQL("SELECT {}('m', {}) FROM {} AS t ORDER BY id")
        query = query.format(
            sql.Identifier(function), features[form], sql.Identifier(self.dataset.name)
        )
        return floats([row for (row,) in self.connection.execute(query)])


@dataclass(frozen=True)
class Model:
    """A data set, a model of it, and XGBoost's explanations of its rows."""

    dataset: Dataset
    file: bytes
    expected: dict[str, np.ndarray]


@pytest.fixture(scope="module")
def models() -> dict[str, Model]:
    datasets = [load(name) for name, _ in CASES.values()]
    files = [
        model_bytes(train(dataset, params))
        for dataset, (_, params) in zip(datasets, CASES.values(), strict=True)
    ]
    rows = [dataset.features.astype(np.float32) for dataset in datasets]
    expected = explained([*zip(files, rows, strict=True)])
    return dict(zip(CASES, map(Model, datasets, files, expected), strict=True))


@pytest.fixture(scope="module", params=CASES)
def case(
    cluster: Cluster, dbname: str, models: dict[str, Model], request: pytest.FixtureRequest
) -> Iterator[Explained]:
    model = models[request.param]
    with cluster.connect(dbname) as connection:
        connection.execute("SELECT load_model('m', %s)", (model.file,))
        model.dataset.store(connection)
        yield Explained(connection, model.dataset, model.expected)
        connection.execute("SELECT drop_model('m')")


def assert_close(found: np.ndarray, expected: np.ndarray) -> None:
    assert found.shape == expected.shape
    assert np.abs(found - expected).max() <= NEAR * np.abs(expected).max()


@pytest.mark.parametrize(
    ("function", "kind"),
    [("predict_contribs", "contribs"), ("predict_interactions", "interactions")],
)
def test_explanations_are_those_of_xgboost(case: Explained, function: str, kind: str) -> None:
    found = case.ask(function, "row")
    assert_close(found, case.expected[kind])
    for form in FORMS:
        assert np.array_equal(case.ask(function, form), found)


def test_contributions_add_up_to_the_margin(case: Explained) -> None:
    found = case.ask("predict_contribs", "row")
    margins = case.ask("predict_margin", "row")
    sums = found.astype(np.float64).sum(axis=-1).reshape(margins.shape)
    sizes = np.abs(found).sum(axis=-1).reshape(margins.shape) + np.abs(margins)
    trees = case.connection.execute("SELECT trees FROM pgboost_models WHERE name = 'm'").fetchone()[
        0
    ]
    # The margin itself is a sum of reals, one for each tree.
    assert (np.abs(sums - margins) <= (trees + 1) * ROUNDING * sizes).all()


def test_interactions_add_up_to_contributions(case: Explained) -> None:
    interactions = case.ask("predict_interactions", "row").astype(np.float64)
    contributions = case.ask("predict_contribs", "row")
    assert np.array_equal(interactions, interactions.swapaxes(-1, -2))
    apart = np.abs(interactions.sum(axis=-1) - contributions)
    assert apart.max() <= NEAR * np.abs(contributions).max()


def test_means_over_rows(case: Explained) -> None:
    contributions = case.ask("predict_contribs", "row").astype(np.float64)
    table = sql.Identifier(case.dataset.name)
    query = sql.SQL("SELECT mean_abs_contribs(predict_contribs('m', t)) FROM {} AS t")
    means = floats(case.connection.execute(query.format(table)).fetchone()[0])
    assert np.allclose(means, np.abs(contributions).mean(axis=0), rtol=1e-6)
    element = "means[output][position]" if means.ndim == 2 else "means[position]"
    outputs = len(means) if means.ndim == 2 else 1
    named = sql.SQL(
        "SELECT feature, {} FROM ({}) AS m (means), generate_series(1, {}) AS output, model_features('m')"
        " ORDER BY output, position"
    ).format(sql.SQL(element), query.format(table), outputs)
    lines = case.connection.execute(named).fetchall()
    assert [line[0] for line in lines] == case.dataset.names * outputs
    assert np.array_equal(floats([line[1] for line in lines]), means[..., :-1].ravel())


def test_lines_are_the_contributions_largest_first(case: Explained) -> None:
    contributions = case.ask("predict_contribs", "row")
    if contributions.ndim == 3:
        # Of several classes, the predicted one is explained.
        classes = case.ask("predict_array", "row").argmax(axis=1)
        contributions = contributions[np.arange(len(classes)), classes]
    query = sql.SQL(
        "SELECT id, e.* FROM {} AS t, explain_prediction('m', t, top => 3) AS e"
    ).format(sql.Identifier(case.dataset.name))
    lines: dict[int, list] = {}
    for number, *line in case.connection.execute(query):
        lines.setdefault(number, []).append(line)
    for number, row in enumerate(contributions):
        *top, others, bias, prediction = lines[number]
        order = np.argsort(-np.abs(row[:-1]), kind="stable")[:3]
        assert [feature for feature, _, _ in top] == [case.dataset.names[i] for i in order]
        assert [np.float32(one) for _, _, one in top] == row[order].tolist()
        values = [None if value is None else float(value) for _, value, _ in top]
        stored = case.dataset.features[number, order]
        assert values == [None if np.isnan(value) else value for value in stored]
        assert others[0] == "(other features)" and bias == ["(bias)", None, row[-1]]
        rest = row[:-1].sum(dtype=np.float64) - row[order].sum(dtype=np.float64)
        assert abs(others[2] - rest) <= NEAR * np.abs(row).max()
        assert prediction[0] == "(prediction)"
        assert abs(prediction[2] - row.sum(dtype=np.float64)) <= NEAR * np.abs(row).max()
