"""predict_contribs, predict_interactions and feature_importance are the library's.

XGBoost's own error is some millionths of the largest contribution, and so is what is allowed there. The
others compute doubles.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from psycopg import Connection, errors

from catboost import CatBoostError, Pool
from tests.connections import Notice
from tests.extension.e2e import golden, reference
from tests.extension.e2e.conftest import Load
from tests.extension.e2e.explained import explained
from tests.extension.e2e.reference import column, floats
from tests.extension.formats import catboost, lightgbm, xgboost
from tests.extension.formats.frame import ask, store
from tools.cluster import Cluster

LIBRARIES = {"xgboost": xgboost, "lightgbm": lightgbm, "catboost": catboost}
ROWS = 400
# Of the largest contribution's size.
NEAR = {"xgboost": 1e-5, "lightgbm": 1e-6, "catboost": 1e-6}
# Of the largest sum of a row's contributions, each of which is rounded to real.
ROUNDING = 1e-6
XGBOOST = ["logistic", "forest of classes", "pruned", "dart", "poisson"]
LIGHTGBM = [
    "regression", "poisson", "binary", "multiclass", "multiclassova", "zeros_missing",
    "nothing_missing", "dart", "goss", "forest", "forest_of_classes",
]  # fmt: skip
# CatBoost explains only the first output of RMSEWithUncertainty. For deep trees that are not symmetric
# its figures are not those of the definition, which takes a few lines of Python for three features.
CATBOOST = [
    name
    for name, params in catboost.TESTED.items()
    if name != "RMSEWithUncertainty" and "grow_policy" not in params
]
OF_XGBOOST = [("xgboost", name) for name in XGBOOST]
CASES = OF_XGBOOST + [("lightgbm", name) for name in LIGHTGBM]
CASES += [("catboost", name) for name in CATBOOST]
FEATURES = list(xgboost.KINDS)


@dataclass(frozen=True)
class Case:
    """A library, its rows in the table `stored`, its model `explained`, and its explanations of the rows."""

    library: str
    connection: Connection
    frame: pd.DataFrame
    contribs: np.ndarray
    interactions: np.ndarray | None = None

    def ask(self, function: str, features: str = "t") -> np.ndarray:
        return floats(ask(self.connection, function, features, model="explained"))


@pytest.fixture(scope="module")
def by_xgboost() -> dict[str, tuple[bytes, dict[str, np.ndarray]]]:
    """The file of each model of XGBoost, and the explanations of the newest release."""
    frame = xgboost.make_frame()
    label, rows = xgboost.make_label(frame), frame.head(ROWS).to_numpy()
    boosters = [xgboost.train(frame, label, xgboost.TESTED[name]) for name in XGBOOST]
    files = [xgboost.files(booster)[1] for booster in boosters]
    found = explained([(file, rows) for file in files])
    return dict(zip(XGBOOST, zip(files, found, strict=True), strict=True))


@pytest.fixture(scope="module")
def case(
    request: pytest.FixtureRequest, cluster: Cluster, dbname: str,
    by_xgboost: dict[str, tuple[bytes, dict[str, np.ndarray]]],
) -> Iterator[Case]:  # fmt: skip
    library, name = request.param
    module = LIBRARIES[library]
    frame = module.make_frame()
    rows = frame.head(ROWS).copy()
    if library == "xgboost":
        file, expected = by_xgboost[name]
        explanations = (expected["contribs"], expected["interactions"])
    else:
        model = module.train(frame, module.make_label(frame), module.TESTED[name])
        file = module.files(model)[-1]
    if library == "lightgbm":
        explanations = (model.predict(rows, pred_contrib=True),)
    elif library == "catboost":
        # Training has seen neither.
        rows.loc[::7, "colour"] = "never seen"
        rows.loc[::5, "size"] = 99
        pool = Pool(rows, cat_features=catboost.CATEGORICAL)
        explanations = (model.get_feature_importance(pool, type="ShapValues"),)
    with cluster.connect(dbname) as connection:
        connection.execute(f"SELECT load_model('explained', %s{module.ARGUMENTS})", (file,))
        store(connection, rows, module.KINDS)
        yield Case(library, connection, rows, *explanations)
        connection.execute("SELECT drop_model('explained')")


def assert_close(case: Case, found: np.ndarray, expected: np.ndarray) -> None:
    expected = expected.reshape(found.shape)
    assert np.abs(found - expected).max() <= NEAR[case.library] * np.abs(expected).max()


@pytest.mark.parametrize("case", CASES, indirect=True, ids="-".join)
def test_contributions_are_the_librarys_and_add_up_to_the_margin(case: Case) -> None:
    found = case.ask("predict_contribs")
    assert_close(case, found, case.contribs)
    columns = ", ".join(LIBRARIES[case.library].KINDS)
    assert np.array_equal(case.ask("predict_contribs", columns), found)
    margins = case.ask("predict_margin")
    sums = found.sum(axis=-1, dtype=np.float64).reshape(margins.shape)
    assert np.abs(sums - margins).max() <= ROUNDING * np.abs(found).sum(axis=-1).max()


@pytest.mark.parametrize("case", OF_XGBOOST, indirect=True, ids="-".join)
def test_interactions_are_xgboosts_and_add_up_to_contributions(case: Case) -> None:
    found = case.ask("predict_interactions")
    assert_close(case, found, case.interactions)
    assert np.array_equal(found, found.swapaxes(-1, -2))
    assert_close(case, found.sum(axis=-1, dtype=np.float64), case.ask("predict_contribs"))


@pytest.mark.parametrize("case", OF_XGBOOST, indirect=True, ids="-".join)
def test_every_form_is_explained_alike(case: Case) -> None:
    columns = ", ".join(FEATURES)
    for function in ("predict_contribs", "predict_interactions"):
        of_rows = case.ask(function)
        for form in (columns, f"ARRAY[{columns}]", "to_jsonb(t)"):
            assert np.array_equal(case.ask(function, form), of_rows)


@pytest.mark.parametrize("case", OF_XGBOOST, indirect=True, ids="-".join)
def test_means_over_rows(case: Case) -> None:
    contributions = case.ask("predict_contribs").astype(np.float64)
    query = "SELECT mean_abs_contribs(predict_contribs('explained', t)) FROM stored AS t"
    means = floats(case.connection.execute(query).fetchone()[0])
    assert np.allclose(means, np.abs(contributions).mean(axis=0), rtol=1e-6)
    element = "means[output][position]" if means.ndim == 2 else "means[position]"
    outputs = len(means) if means.ndim == 2 else 1
    lines = case.connection.execute(
        f"SELECT feature, {element} FROM ({query}) AS m (means), generate_series(1, {outputs}) AS output,"
        " model_features('explained') ORDER BY output, position"
    ).fetchall()
    assert [line[0] for line in lines] == FEATURES * outputs
    assert np.array_equal(floats([line[1] for line in lines]), means[..., :-1].ravel())


@pytest.mark.parametrize("case", OF_XGBOOST, indirect=True, ids="-".join)
def test_lines_are_the_contributions_largest_first(case: Case) -> None:
    contributions = case.ask("predict_contribs")
    if contributions.ndim == 3:
        # Of several classes, the predicted one is explained.
        classes = case.ask("predict_array").argmax(axis=1)
        contributions = contributions[np.arange(len(classes)), classes]
    query = "SELECT id, e.* FROM stored AS t, explain_prediction('explained', t, top => 3) AS e"
    lines: dict[int, list] = {}
    for number, *line in case.connection.execute(query):
        lines.setdefault(number, []).append(line)
    for number, row in enumerate(contributions):
        *top, others, bias, prediction = lines[number]
        order = np.argsort(-np.abs(row[:-1]), kind="stable")[:3]
        assert [feature for feature, _, _ in top] == [FEATURES[place] for place in order]
        assert [np.float32(one) for _, _, one in top] == row[order].tolist()
        values = np.array([np.nan if value is None else float(value) for _, value, _ in top], "f4")
        assert np.array_equal(values, case.frame.iloc[number].to_numpy()[order], equal_nan=True)
        assert others[0] == "(other features)" and bias == ["(bias)", None, row[-1]]
        near = NEAR["xgboost"] * np.abs(row).max()
        rest = row[:-1].sum(dtype=np.float64) - row[order].sum(dtype=np.float64)
        assert abs(others[2] - rest) <= near
        assert prediction[0] == "(prediction)"
        assert abs(prediction[2] - row.sum(dtype=np.float64)) <= near


@pytest.mark.parametrize("outputs", [1, 2])
def test_scaled_catboost_adds_up_where_its_own_does_not(
    connection: Connection, load: Load, outputs: int
) -> None:
    """CatBoost refuses a scale with one output, and leaves it out with several."""
    frame = catboost.make_frame()
    label = catboost.make_label(frame)
    loss = {"loss_function": "RMSE" if outputs == 1 else "MultiRMSE"}
    targets = label if outputs == 1 else np.stack([label, -label], axis=1)
    model = catboost.train(frame, targets, catboost.MODELS["RMSE"] | loss)
    model.set_scale_and_bias(3.0, [1.0, 2.0][:outputs])
    load(model)
    store(connection, frame.iloc[:ROWS])
    found = floats(ask(connection, "predict_contribs", "t")).reshape(ROWS, outputs, -1)
    margins = floats(ask(connection, "predict_margin", "t")).reshape(ROWS, outputs)
    largest, sums = np.abs(found).max(), found.sum(axis=-1, dtype=np.float64)
    assert np.abs(sums - margins).max() <= NEAR["catboost"] * largest
    pool = Pool(frame.iloc[:ROWS], cat_features=catboost.CATEGORICAL)
    if outputs == 1:
        with pytest.raises(CatBoostError, match="Non-identity"):
            model.get_feature_importance(pool, type="ShapValues")
    else:
        theirs = model.get_feature_importance(pool, type="ShapValues")
        assert np.abs(theirs.sum(axis=-1) - margins).max() > 0.01 * largest


def test_onnx_has_no_covers(connection: Connection, load: Load) -> None:
    load(golden.file(golden.names("onnx/*/*.onnx")[0]))
    (features,) = column(connection, "SELECT features FROM pgboost_models WHERE name = 'm'")
    row = f"array_fill(i::real, ARRAY[{features}])"
    # By row, and in batches.
    for rows in (1, 1000):
        source = f"FROM generate_series(1, {rows}) AS i"
        for function in ("predict_contribs", "predict_interactions"):
            with pytest.raises(errors.FeatureNotSupported) as refused:
                connection.execute(f"SELECT {function}('m', {row}) {source}")
            assert refused.value.diag.message_hint
    with pytest.raises(errors.FeatureNotSupported):
        connection.execute(f"SELECT e.* {source}, explain_prediction('m', {row}) AS e")
    connection.execute(f"SELECT predict_array('m', {row}) {source}")


TREES, WINE = {"objective": "reg:squarederror"}, {"objective": "multi:softprob", "num_class": 3}
KINDS = ["weight", "gain", "cover", "total_gain", "total_cover"]
IMPORTANCE = "SELECT importance FROM feature_importance('m', %s)"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("name", "params"), [
    ("breast_cancer", {"objective": "binary:logistic"}),
    ("wine", {**WINE, "num_parallel_tree": 2}),
    ("diabetes", {**TREES, "tree_method": "exact", "gamma": 40000}),
    ("diabetes", {**TREES, "booster": "dart", "rate_drop": 0.5}),
    ("wine", {**WINE, "multi_strategy": "multi_output_tree"}),
], ids=["logistic", "softprob", "pruned", "dart", "vectors"])  # fmt: skip
def test_importances_are_those_of_get_score(
    connection: Connection, load: Load, name: str, params: dict, kind: str
) -> None:
    dataset = reference.load(name)
    booster = reference.train(dataset, params)
    load(booster)
    query = "SELECT feature, importance FROM feature_importance('m', %s)"
    found = dict(connection.execute(query, (kind,)).fetchall())
    score = booster.get_score(importance_type=kind)
    given = [found.pop(feature, 0.0) for feature in dataset.names]
    assert not found
    wanted = [score.get(feature, 0.0) for feature in dataset.names]
    assert np.allclose(given, wanted, rtol=1e-5, atol=0)


@pytest.mark.parametrize(("file", "kinds"), [
    ("catboost/*/depthwise.cbm", ["weight", "cover", "total_cover"]),
    ("onnx/*/forest_classes.onnx", ["weight"]), ("lightgbm/*/binary.txt", KINDS),
])  # fmt: skip
def test_missing_importances_are_null_with_a_notice(
    connection: Connection, load: Load, notices: list[Notice], file: str, kinds: list[str]
) -> None:
    load(golden.file(golden.names(file)[-1]))
    features = column(connection, "SELECT feature FROM model_features('m')")
    for kind in KINDS:
        found = column(connection, IMPORTANCE, (kind,))
        assert len(found) == len(features)
        if kind in kinds:
            assert not notices
            assert found[0] > 0 and None not in found
        else:
            message = f'the file of model "m" has no {"covers" if "cover" in kind else "gains"}'
            hint = f"Pass importance_type => {' or '.join(map(repr, kinds))}."
            assert notices == [Notice("NOTICE", message, None, hint)]
            assert set(found) == {None}
        notices.clear()
