"""Random models, frames and arguments: models predict the same in SQL, and calls raise `PgboostError` only.

`PGBOOST_TIMES` makes it as many times as long.
"""

import datetime
import warnings
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xgboost
from psycopg import Connection
from sklearn import ensemble, preprocessing, tree
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline

import catboost
import lightgbm
import pgboost
from tests.python.estimators import OPTIONS
from tests.python.models import SILENT
from tests.state import TIMES

ROWS = 120
Random = np.random.Generator

# Makers of columns, by content.
COLUMNS: dict[str, Callable[[Random], Any]] = {
    "double": lambda r: r.normal(size=ROWS),
    "single": lambda r: r.normal(size=ROWS).astype(np.float32),
    "half": lambda r: r.normal(size=ROWS).astype(np.float16),
    "missing": lambda r: np.where(r.random(ROWS) < 0.3, np.nan, r.normal(size=ROWS)),
    "whole": lambda r: r.integers(-9, 9, ROWS),
    "narrow": lambda r: r.integers(0, 200, ROWS).astype(np.uint8),
    "unsigned": lambda r: r.integers(0, 2**63, ROWS).astype(np.uint64),
    "flag": lambda r: r.random(ROWS) < 0.5,
    "nullable": lambda r: pd.array(r.integers(0, 9, ROWS), dtype="Int64"),
    "nullable flag": lambda r: pd.array([True, False, None] * (ROWS // 3), dtype="boolean"),
    "text": lambda r: r.choice(["a", "b", "Köln", "01067"], ROWS),
    "object": lambda r: r.choice(np.array(["a", None, "b"], object), ROWS),
    "category": lambda r: pd.Categorical(r.choice(["u", "v", "w"], ROWS)),
    "category beyond ASCII": lambda r: pd.Categorical(r.choice(["Café", "日本", "w"], ROWS)),
    "category of numbers": lambda r: pd.Categorical(r.integers(0, 5, ROWS) * 10),
    "category of dates": lambda r: pd.Categorical(pd.to_datetime(r.integers(0, 3, ROWS), unit="D")),
    "category of intervals": lambda r: pd.cut(r.normal(size=ROWS), 4),
    "date": lambda r: np.array([datetime.date(2020, 1, 1 + n % 28) for n in range(ROWS)]),
    "time": lambda r: pd.to_datetime(r.integers(0, 10**9, ROWS), unit="s"),
    "zoned": lambda r: pd.to_datetime(r.integers(0, 10**9, ROWS), unit="s", utc=True),
    "span": lambda r: pd.to_timedelta(r.integers(0, 10**9, ROWS), unit="s"),
    "decimal": lambda r: [Decimal(int(n)) / 10 for n in r.integers(0, 99, ROWS)],
    "boolean object": lambda r: np.resize(np.array([True, None, False], object), ROWS),
    "nothing": lambda r: [None] * ROWS,
    "bytes": lambda r: [b"a"] * ROWS,
    "mixed": lambda r: np.resize(np.array([1, "a", None, 2.5], object), ROWS),
    "infinite": lambda r: np.resize([np.inf, -np.inf, 1.0, 0.0], ROWS),
    "tiny": lambda r: r.choice([1e-40, -1e-40, 5e-324, 0.0, -0.0], ROWS),
    "huge": lambda r: r.choice([1e300, -1e300, 3.4e38, 1.0], ROWS),
}
SAFE = ["double", "single", "missing", "whole", "narrow", "flag", "category", "text", "object"]
NAMES = ["a", "b c", "d?", "", "pgboost row", "x" * 70, "é", 'q"', "%s", "Ä%", 5]
TARGETS: dict[str, Callable[[Random, pd.DataFrame], Any]] = {
    "number": lambda r, f: r.normal(size=ROWS),
    "positive": lambda r, f: r.random(ROWS) + 0.5,
    "two": lambda r, f: r.integers(0, 2, ROWS),
    "three": lambda r, f: r.integers(0, 3, ROWS),
    "float": lambda r, f: r.integers(0, 2, ROWS) * 1.0,
    "boolean": lambda r, f: r.random(ROWS) < 0.5,
    "text": lambda r, f: r.choice(["1", "2", "x"], ROWS),
    "several": lambda r, f: r.integers(0, 2, (ROWS, 2)),
}


def chosen(random: Random, options: dict[str, list[Any]]) -> dict[str, Any]:
    """Draws some of the parameters."""
    return {
        name: values[random.integers(len(values))]
        for name, values in options.items()
        if random.random() < 0.4
    }


TREES = {
    "max_depth": [1, 3],
    "criterion": ["friedman_mse", "entropy", "poisson"],
    "loss": ["poisson", "gamma", "exponential", "quantile", "huber"],
    "max_features": [0.5],
    "warm_start": [True],
    "monotonic_cst": [[1, 0]],
    "categorical_features": ["from_dtype", [0]],
    "init": ["zero"],
    "max_samples": [0.5],
    "ccp_alpha": [0.01],
}
FOREST = {"n_estimators": 3}
NAMES_OF_FORESTS = """RandomForestClassifier ExtraTreesRegressor GradientBoostingClassifier
    GradientBoostingRegressor BaggingClassifier AdaBoostClassifier AdaBoostRegressor IsolationForest
    RandomTreesEmbedding"""
# Classes, options to draw from, and those that are always given.
KINDS: list[tuple[list[Any], dict[str, list[Any]], dict[str, Any]]] = [
    ([xgboost.XGBRegressor, xgboost.XGBClassifier, xgboost.XGBRFRegressor], OPTIONS["XGB"],
     {**FOREST, "enable_categorical": True, "n_jobs": 1}),
    ([lightgbm.LGBMRegressor, lightgbm.LGBMClassifier], OPTIONS["LGBM"],
     {**FOREST, "verbose": -1, "n_jobs": 1}),
    ([catboost.CatBoostRegressor, catboost.CatBoostClassifier, catboost.CatBoost], OPTIONS["CatBoost"],
     {"iterations": 3, **SILENT}),
    ([getattr(ensemble, name) for name in NAMES_OF_FORESTS.split()], TREES, FOREST),
    ([tree.DecisionTreeRegressor, tree.ExtraTreeClassifier, ensemble.HistGradientBoostingRegressor,
      ensemble.HistGradientBoostingClassifier], TREES, {}),
]  # fmt: skip
ESTIMATORS = [(one, options, fixed) for kinds, options, fixed in KINDS for one in kinds]
STEPS: list[Callable[[], Any]] = [
    preprocessing.StandardScaler,
    lambda: preprocessing.StandardScaler(with_mean=False),
    SimpleImputer,
    lambda: preprocessing.OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
    lambda: preprocessing.OneHotEncoder(handle_unknown="ignore"),
    lambda: preprocessing.FunctionTransformer(np.log1p),
    lambda: make_column_transformer(
        (preprocessing.OneHotEncoder(handle_unknown="ignore"), [0]), remainder="passthrough"),
]  # fmt: skip


def frame(random: Random, kinds: list[str]) -> pd.DataFrame:
    names = random.permutation(np.array(NAMES, object))
    found = {}
    for place in range(random.integers(1, 4)):
        name = names[place] if random.random() < 0.3 else f"f{place}"
        found[name] = COLUMNS[kinds[random.integers(len(kinds))]](random)
    return pd.DataFrame(found)


def fitted(random: Random) -> tuple[Any, Any] | None:
    """Returns a model and the rows that it was fitted on, unless its library refuses them."""
    kind, options, fixed = ESTIMATORS[random.integers(len(ESTIMATORS))]
    rows: Any = frame(random, SAFE if random.random() < 0.7 else list(COLUMNS))
    if random.random() < 0.2:
        rows = rows.to_numpy()
    target = list(TARGETS.values())[random.integers(len(TARGETS))](random, rows)
    known = {name for name in options if kind.__module__.partition(".")[0] != "sklearn"}
    known = known or set(kind().get_params())
    given = {name: value for name, value in chosen(random, options).items() if name in known}
    try:
        model = kind(**{**fixed, **given})
        if random.random() < 0.3:
            model = make_pipeline(STEPS[random.integers(len(STEPS))](), model)
        return model.fit(rows, target), rows
    except Exception:
        return None


def attempted(call: Callable[..., Any], *given: Any, **options: Any) -> Any:
    """Returns the result of a call; None if it raises an error of the package."""
    try:
        return call(*given, **options)
    except pgboost.PgboostError as error:
        assert str(error), type(error)
        return None


@pytest.mark.parametrize("seed", range(8 * TIMES))
def test_models(connection: Connection, seed: int) -> None:
    random = np.random.default_rng(seed)
    taken = 0
    for _ in range(40):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = fitted(random)
            if found is None:
                continue
            model, rows = found
            options: dict[str, Any] = {"check": rows} if random.random() < 0.4 else {}
            version = attempted(pgboost.push, connection, "m", model, **options)
            if version is None:
                continue
            taken += 1
            # Python's frames have times in another unit than seconds.
            has_times = any("datetime" in str(dtype) for dtype in getattr(rows, "dtypes", ()))
            same = attempted(pgboost.verify, connection, "m", model, rows)
            assert same is None or same or has_times, (model, rows.dtypes, same)
            for call in (pgboost.predict_class, pgboost.predict_proba, pgboost.explain):
                attempted(call, connection, "m", rows)
            attempted(pgboost.pull, connection, "m")
            other = frame(random, list(COLUMNS))
            for given in (other, other.to_numpy(), rows[:0], None):
                attempted(pgboost.predict, connection, "m", given)
                attempted(pgboost.drift, connection, "m", given)
                attempted(pgboost.evaluate, connection, "m", given, "f0")
            pgboost.drop(connection, "m")
    assert taken


@pytest.mark.parametrize("seed", range(6 * TIMES))
def test_trainings(connection: Connection, seed: int) -> None:
    connection.execute("CREATE EXTENSION IF NOT EXISTS pgboost_train")
    random = np.random.default_rng(1000 + seed)
    for _ in range(5):
        rows = frame(random, list(COLUMNS))
        make = list(TARGETS.values())[random.integers(len(TARGETS) - 1)]
        rows["y"] = make(random, rows)
        params = chosen(random, {"max_depth": [2, "x"], "eta": [0.1, None], "unknown": [1]})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            trained = attempted(pgboost.train, connection, "t", rows, "y", params, rounds=3)
            if trained is not None:
                # A model that was trained on a frame predicts it.
                assert len(pgboost.predict(connection, "t", rows)) == ROWS
                pgboost.drop(connection, "t")


ODD: list[Any] = [
    None, 5, -1, 2.5, b"bytes", object(), [], {}, "", "m", "\0", "\udc80", "m@x", print,
]  # fmt: skip
CALLS: dict[str, int] = {
    "push": 2, "verify": 3, "predict": 2, "predict_class": 2, "predict_proba": 2, "explain": 2,
    "evaluate": 3, "compare": 4, "drift": 2, "set_baseline": 2, "train": 3, "models": 0, "pull": 1,
    "partial_dependence": 3, "permutation_importance": 3,
    "deploy": 1, "set_alias": 2, "drop_alias": 1, "drop": 1, "rename": 2,
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_odd_arguments(connection: Connection, name: str) -> None:
    random = np.random.default_rng(7)
    call = getattr(pgboost, name)
    for one in ODD:
        given = [ODD[random.integers(len(ODD))] for _ in range(CALLS[name])]
        with pytest.raises(pgboost.PgboostError):
            call(connection, *given, unknown=one)
        attempted(call, connection, *given)
        with pytest.raises(pgboost.PgboostError):
            call(one if one != "" else "host=/nowhere", *given)
