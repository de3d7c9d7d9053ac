"""Every section of docs/recipes.md runs by itself, on the tables of the quick start.

The queries of a block `py` must find the rows that SQL finds, and the queries for metrics must say what
scikit-learn says.
"""

import re
from pathlib import Path

import numpy as np
import pytest
from sklearn import metrics
from sklearn.calibration import calibration_curve

from tests.extension.pages.blocks import Section, compared, sections
from tests.extension.pages.conftest import copy
from tools.cluster import Cluster
from tools.cluster.server import installed

PAGE = "docs/recipes.md"
DATABASE = "recipe"
METRICS = "Confusion, calibration, lift and ROC curve"
RECIPES = sections(PAGE)

RISKY = "SELECT count(*), sum(id) FROM customers WHERE predict('churn', {}, income, region, visits) > 0.8"


def risky_customers(cluster: Cluster, dbname: str) -> list[str]:
    """The output of an application: each query's number of customers, and the sum of their keys."""
    with cluster.connect(dbname) as connection:
        found = [connection.execute(RISKY.format(age)).fetchone() for age in ("age", "70")]
    assert all(count for count, _ in found)
    return [f"{count} {keys}" for count, keys in found]


@pytest.mark.usefixtures("tables")
@pytest.mark.parametrize(
    "recipe", RECIPES, ids=lambda recipe: recipe.title.lower().replace(" ", "_")
)
def test_every_block_runs(recipe: Section, cluster: Cluster, tmp_path: Path) -> None:
    for wrapper in re.findall(r"CREATE EXTENSION (\w+_fdw)", str(recipe.blocks)):
        if not (installed("--pkglibdir") / f"{wrapper}.so").exists():
            pytest.skip(f"this PostgreSQL has no {wrapper}")
    copy(cluster, DATABASE, PAGE)
    outputs = compared(recipe, cluster, DATABASE, tmp_path)
    for block, output in zip(recipe.blocks, outputs, strict=True):
        if block.language == "py":
            assert output.splitlines() == risky_customers(cluster, DATABASE)


@pytest.mark.usefixtures("tables")
def test_the_queries_for_metrics_equal_scikit_learn(cluster: Cluster) -> None:
    """To 1e-9: those of confusion, precision, calibration, lift and the ROC curve."""
    (recipe,) = [recipe for recipe in RECIPES if recipe.title == METRICS]
    copy(cluster, DATABASE, PAGE)
    texts = [block.text for block in recipe.blocks]
    statements = [one for text in texts for one in text.split(";") if one.strip()]
    with cluster.connect(DATABASE) as connection:
        results = [
            cursor.fetchall() if cursor.description else None
            for cursor in (connection.execute(statement) for statement in statements)
        ]
        rows = connection.execute("SELECT churned, p::float8, region FROM scored").fetchall()
    truth, p, region = (np.array(column) for column in zip(*rows, strict=True))
    by_region, confusion, scores, calibration, widths, lift, curve, best = [
        result for result in results if result is not None
    ]
    for name, area, loss, accuracy in by_region:
        some = region == name
        expected = [
            metrics.roc_auc_score(truth[some], p[some]), metrics.log_loss(truth[some], p[some]),
            metrics.accuracy_score(truth[some], p[some] > 0.5),
        ]  # fmt: skip
        assert near([area, loss, accuracy], expected)
    cells = {(actual, given): count for actual, given, count in confusion}
    matrix = [[cells.get((a, b), 0) for b in (False, True)] for a in (False, True)]
    assert matrix == metrics.confusion_matrix(truth, p > 0.5).tolist()
    of_class = (metrics.precision_score, metrics.recall_score, metrics.f1_score)
    assert near(scores[0], [score(truth, p > 0.5) for score in of_class])
    for found, strategy in ((calibration, "quantile"), (widths, "uniform")):
        actual, predicted = calibration_curve(truth, p, n_bins=10, strategy=strategy)
        assert near([row[3] for row in found], actual)
        assert near([row[2] for row in found], predicted)
    tenths = np.array_split(truth[np.argsort(-p, kind="stable")], 10)
    assert [row[1] for row in lift] == [len(tenth) for tenth in tenths]
    assert sum(float(row[2]) for row in lift) / 10 == pytest.approx(1, rel=1e-9)
    fpr, tpr, thresholds = metrics.roc_curve(truth, p, drop_intermediate=False)
    assert [row[0] for row in curve] == [float(str(np.float32(one))) for one in thresholds[1:]]
    assert near([row[1:] for row in curve], np.column_stack([fpr, tpr])[1:])
    assert float(best[0][2] - best[0][1]) == pytest.approx((tpr - fpr).max(), rel=1e-9)


def near(found: list, expected: object) -> bool:
    return np.allclose(np.array(found, float), np.array(expected), rtol=1e-9, atol=0)
