"""Scalers of a frame of `float32` alone round to it, in SQL too if `push` has seen such a frame."""

from typing import Any

import numpy as np
import pandas as pd
import psycopg
import pytest
from sklearn import preprocessing as pre
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline, make_union
from sklearn.tree import DecisionTreeRegressor

import lightgbm
import pgboost

ROWS = 600
TREES = {
    "HistGradientBoosting": HistGradientBoostingRegressor(min_samples_leaf=2, max_iter=30),
    "tree": DecisionTreeRegressor(random_state=1),
    "LightGBM": lightgbm.LGBMRegressor(n_estimators=30, min_child_samples=2, verbose=-1),
}
STEPS: dict[str, Any] = {
    "StandardScaler": pre.StandardScaler(),
    "MinMaxScaler": pre.MinMaxScaler((-3, 1), clip=True),
    "RobustScaler": pre.RobustScaler(),
    "two scalers": make_pipeline(pre.MaxAbsScaler(), pre.StandardScaler(with_mean=False)),
    "an imputer": make_pipeline(SimpleImputer(add_indicator=True), pre.StandardScaler()),
    "a union": make_union(pre.StandardScaler(), "passthrough"),
    "texts": make_column_transformer(
        (pre.OneHotEncoder(), ["t"]), (pre.StandardScaler(), ["a", "b"])
    ),
    "texts of float32, scaled": make_pipeline(
        make_column_transformer(
            (pre.OneHotEncoder(dtype=np.float32, sparse_output=False), ["t"]),
            (pre.StandardScaler(), ["a", "b"]),
        ),
        pre.MinMaxScaler(),
    ),
}


def frame() -> pd.DataFrame:
    """Numbers one unit in the last place apart, so that a scaler's rounding moves them over thresholds."""
    draw = np.random.default_rng(5)
    units = draw.integers(0, 16, (2, ROWS)) * 2.0**-22
    a, b = draw.choice([1, 3], (2, ROWS)) + units
    texts = pd.Series(draw.choice(["x", "y"], ROWS), dtype=object)
    return pd.DataFrame({"a": a.astype("float32"), "b": b.astype("float32"), "t": texts})


def fitted(step: Any, trees: Any, rows: pd.DataFrame) -> Any:
    target = rows.a.rank(method="dense").fillna(0) % 5 + 3 * (rows.b.rank(method="dense") % 3)
    return make_pipeline(step, trees).fit(rows, target)


@pytest.mark.parametrize("trees", TREES.values(), ids=TREES.keys())
@pytest.mark.parametrize("name", STEPS)
def test_steps_round_as_in_python(connection: psycopg.Connection, name: str, trees: Any) -> None:
    rows = frame() if "texts" in name else frame().drop(columns="t")
    if name == "an imputer":
        rows.loc[::9, "a"] = np.nan
    model = fitted(STEPS[name], trees, rows)
    if name == "StandardScaler" and trees is TREES["HistGradientBoosting"]:
        assert (model.predict(rows.astype(float)) != model.predict(rows)).any()
    pgboost.push(connection, "single", model, check=rows)
    assert pgboost.verify(connection, "single", model, rows).differing == 0
    columns = [[None if pd.isna(one) else one for one in rows[name].tolist()] for name in rows]
    text = ", %s::text[]" if "t" in rows else ""
    names = ", ".join(rows)
    connection.execute("DROP TABLE IF EXISTS singles")
    connection.execute(
        f"CREATE TABLE singles AS SELECT * FROM unnest(%s::real[], %s::real[]{text}) AS t({names})",
        columns,
    )
    assert pgboost.verify(connection, "single", model, "singles").differing == 0


def test_other_numbers_beside_them_are_refused(connection: psycopg.Connection) -> None:
    rows = frame().drop(columns="t")
    model = fitted(pre.StandardScaler(), TREES["HistGradientBoosting"], rows)
    with pytest.raises(pgboost.UnsupportedModelError, match="float32 in less than double"):
        pgboost.push(connection, "single", model)
        pgboost.verify(connection, "single", model, rows)
    union = make_union(pre.StandardScaler(), pre.FunctionTransformer(np.log1p))
    model = fitted(union, TREES["HistGradientBoosting"], rows)
    with pytest.raises(pgboost.UnsupportedModelError, match="float32 in less than double"):
        pgboost.push(connection, "single", model, check=rows)
