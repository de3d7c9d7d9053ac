"""Random models, parameters, frames and tables: SQL predicts what Python predicts, or push refuses.

`PGBOOST_TIMES` makes it as many times as long, and `PGBOOST_SEED` is the first seed.
"""

import importlib.util
import inspect
import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xgboost
from psycopg import Connection
from sklearn import compose, pipeline

import catboost
import lightgbm
import pgboost
from tests.python import estimators
from tests.python.models import SILENT
from tests.state import TIMES

MODELS = 30
FIRST = int(os.environ.get("PGBOOST_SEED", "0"))
# By NumPy's kind, types of a table that hold the numbers of a column.
STORED = {
    "f": ["real", "double precision", "numeric"],
    "i": ["integer", "bigint", "numeric", "double precision"],
    "u": ["bigint", "numeric"],
    "b": ["boolean", "boolean::integer"],
}
DATES = ["date", "timestamp", "timestamptz"]
UNITS = ["s", "ms", "us", "ns"]
CLASSES = {kind.__name__: kind for kind in estimators.classes()}
SCALERS = ["StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler"]
STEPS = [*SCALERS, "KBinsDiscretizer", "FunctionTransformer", "PolynomialFeatures"]
STEPS += ["SimpleImputer", "MissingIndicator"]
ENCODERS = ["OneHotEncoder", "OrdinalEncoder", "TargetEncoder"]
TREES = ["DecisionTree", "ExtraTree", "RandomForest", "ExtraTrees", "Bagging", "GradientBoosting"]
TREES += ["HistGradientBoosting"]
WIDE = ["float64", "int64", "int32", "uint32"]
NARROW = ["float32", "int8", "uint8", "int16", "bool"]
QUIET = {
    "XGB": {"n_estimators": 5, "max_depth": 4, "n_jobs": 1},
    "LGBM": {"n_estimators": 5, "verbose": -1, "min_child_samples": 5, "n_jobs": 1},
    "CatBoost": {"iterations": 5, **SILENT},
}
BOOSTED = {"XGB": xgboost, "LGBM": lightgbm, "CatBoost": catboost}


def optional(name: str) -> Any:
    """Imports a module that may not be installed."""
    return importlib.import_module(name) if importlib.util.find_spec(name) else None


polars, pyarrow = optional("polars"), optional("pyarrow")


def polars_frame(frame: pd.DataFrame) -> Any:
    """Converts a frame to Polars, with its types."""
    return polars.DataFrame(
        {
            name: column.astype(object).where(column.notna(), None).tolist()
            if name[0] == "t"
            else column.astype("datetime64[us]").to_numpy()
            if column.dtype.kind == "M"
            else column.to_numpy()
            for name, column in frame.items()
        }
    )


def columns(frame: pd.DataFrame, kind: str) -> list[str]:
    return [name for name in frame if name[0] == kind]


class Drawn:
    """Draws frames, models and tables by a seed."""

    def __init__(self, seed: int) -> None:
        self.generator = np.random.default_rng(seed)
        self.rows = int(self.generator.integers(80, 250))

    def maybe(self, share: float) -> bool:
        return bool(self.generator.random() < share)

    def one_of(self, values: Any) -> Any:
        return values[int(self.generator.integers(len(values)))]

    def some_of(self, values: list[Any]) -> list[Any]:
        chosen = [value for value in values if self.maybe(0.6)]
        return chosen or [self.one_of(values)]

    def numbers(self, dtype: str) -> Any:
        """Draws a column of numbers, which may repeat."""
        if dtype == "bool":
            return self.generator.random(self.rows) < 0.4
        drawn = self.generator.normal(self.one_of([0, 3]), self.one_of([1, 30]), self.rows)
        drawn = np.round(drawn, int(self.generator.integers(0, 4)))
        if not dtype.startswith("float"):
            limits = np.iinfo(dtype)
            return np.clip(drawn, limits.min, limits.max).astype(dtype)
        return np.where(self.generator.random(self.rows) < self.one_of([0, 0.1]), np.nan, drawn)

    def texts(self) -> pd.Series:
        drawn = self.generator.choice(list("abcdefgh"), self.rows).astype(object)
        drawn[self.generator.random(self.rows) < self.one_of([0, 0.1])] = None
        kind = self.one_of(["object", "category"])
        return pd.Series(drawn, dtype=object).astype(kind)

    def frame(self, types: list[str]) -> pd.DataFrame:
        found = {
            f"n{number}": pd.Series(self.numbers(dtype)).astype(dtype)
            for number, dtype in enumerate(self.generator.choice(types, 4))
        }
        found |= {"t0": self.texts(), "t1": self.texts()}
        # Seconds since 1970, which a table and a frame may have as dates.
        days = self.generator.integers(-9000, 20000, self.rows)
        return pd.DataFrame(found | {"nd": days * 86400.0})

    def stored(self, frame: pd.DataFrame, connection: Connection) -> None:
        """Stores the frame as a table: a `float32` as a `real`, others in any type that holds them."""
        has_singles = (frame.dtypes == "float32").any()
        types = {}
        for name, dtype in frame.dtypes.items():
            if name == "nd":
                types[name] = self.one_of(DATES)
            elif getattr(dtype, "kind", "O") == "f":
                is_single = [dtype == "float32"] if has_singles else [True, False]
                types[name] = "real" if self.one_of(is_single) else self.one_of(STORED["f"][1:])
            else:
                types[name] = self.one_of(STORED.get(getattr(dtype, "kind", "O"), ["text"]))
        rows = frame.assign(nd=pd.to_datetime(frame.nd, unit="s"))
        texts = [[None if pd.isna(one) else str(one) for one in rows[name]] for name in rows]
        casts = ", ".join(f"{name}::{kind} AS {name}" for name, kind in types.items())
        given = ", ".join(["%s::text[]"] * len(texts))
        connection.execute("SET TimeZone = 'UTC'; DROP TABLE IF EXISTS random_rows")
        query = f"SELECT {casts} FROM unnest({given}) AS t({', '.join(rows)})"
        connection.execute(f"CREATE TABLE random_rows AS {query}", texts)

    def frames(self, frame: pd.DataFrame) -> Iterator[tuple[str, Any]]:
        """Yields the rows in frames of other types and libraries, with dates in any unit."""
        unit = self.one_of(UNITS)
        stamps = pd.to_datetime(frame.nd, unit="s").astype(f"datetime64[{unit}]")
        dated = frame.assign(nd=stamps)
        yield f"pandas, {unit}", dated
        yield "pandas, objects", frame.assign(nd=pd.Series(stamps.dt.date, dtype=object))
        if pyarrow is not None:
            table = pyarrow.Table.from_pandas(dated)
            yield f"Arrow, {unit}", table
            yield f"Arrow in pandas, {unit}", table.to_pandas(types_mapper=pd.ArrowDtype)
        if polars is not None:
            of_polars = polars_frame(dated)
            yield f"Polars, {unit}", of_polars
            yield "Polars, dates", of_polars.with_columns(polars.col("nd").cast(polars.Date))

    def target(self, frame: pd.DataFrame, kind: str) -> Any:
        filled = frame[["n0", "n1", "n2", "n3"]].astype(float).fillna(0)
        number = np.tanh(filled / 5).sum(axis=1) + (frame["t0"] == "b") - (frame["t1"] == "c")
        number = np.asarray(number + self.generator.normal(0, 0.3, self.rows))
        if kind == "numbers":
            return np.stack([number, np.exp(number / 3)], axis=1)
        if kind == "number":
            return np.exp(number / 3)
        classes = 2 if kind == "two" else 3
        return pd.qcut(number, classes, labels=False) + self.one_of([0, 1])

    def of_class(self, name: str, **given: Any) -> Any:
        """Returns an instance with some parameters other than their defaults."""
        kind = CLASSES[name]
        parameters = inspect.signature(kind).parameters
        chosen = {key: value for key, value in estimators.FEW.items() if key in parameters}
        for parameter in parameters:
            found = estimators.values(kind, parameter) if parameter not in NOT_DRAWN else []
            if found and self.maybe(0.25):
                value = self.one_of(found)
                chosen |= value if isinstance(value, estimators.With) else {parameter: value}
        return kind(**{**chosen, **given})

    def estimator(self, task: str) -> Any:
        if self.maybe(0.3):
            return self.boosted(self.one_of(list(BOOSTED)), task)
        if task == "Classifier" and self.maybe(0.1):
            return self.of_class("AdaBoostClassifier")
        return self.of_class(f"{self.one_of(TREES)}{task}")

    def boosted(self, name: str, task: str, **given: Any) -> Any:
        chosen = {
            key: self.one_of(values)
            for key, values in estimators.OPTIONS[name].items()
            if key not in NOT_DRAWN and self.maybe(0.1)
        }
        return getattr(BOOSTED[name], f"{name}{task}")(**{**QUIET[name], **chosen, **given})

    def direct(self, frame: pd.DataFrame, task: str) -> tuple[Any, pd.DataFrame]:
        """Returns a model of numbers and categories without steps, and its rows."""
        name = self.one_of([*BOOSTED, "HistGradientBoosting"])
        names = [*columns(frame, "n"), *(["t0"] if self.maybe(0.7) else [])]
        rows = frame[names].astype({"t0": "category"} if "t0" in names else {})
        if name == "HistGradientBoosting":
            return self.of_class(f"{name}{task}", categorical_features="from_dtype"), rows
        if name == "CatBoost" and "t0" in names:
            rows = rows.assign(t0=rows.t0.astype(object).fillna("none"))
            return self.boosted(name, task, cat_features=["t0"]), rows
        given = {"enable_categorical": True} if name == "XGB" else {}
        return self.boosted(name, task, **given), rows

    def pipeline(self, frame: pd.DataFrame, task: str) -> Any:
        """Returns steps of some columns, perhaps one step of their features, and an estimator."""
        numbers, texts = (columns(frame, kind) for kind in "nt")
        parts = []
        for _ in range(int(self.generator.integers(1, 4))):
            step = self.of_class(self.one_of(STEPS))
            if self.maybe(0.4):
                imputer = self.of_class("SimpleImputer", missing_values=np.nan)
                step = pipeline.make_pipeline(imputer, step)
            parts.append((step, self.some_of(numbers)))
        if self.maybe(0.7):
            encoder = self.of_class(self.one_of(ENCODERS), categories="auto")
            parts.append((encoder, self.some_of(texts)))
        parts.append(("passthrough", self.some_of(numbers)))
        sparse = self.one_of([0, 0.3, 1])
        steps = [compose.make_column_transformer(*parts, sparse_threshold=sparse)]
        if self.maybe(0.3):
            steps.append(self.of_class(self.one_of([*SCALERS, "SelectKBest", "VarianceThreshold"])))
        return pipeline.make_pipeline(*steps, self.estimator(task))

    def model(self, frame: pd.DataFrame, task: str) -> tuple[Any, pd.DataFrame]:
        """Returns a model and the rows to fit it on."""
        if self.maybe(0.3):
            return self.direct(frame, task)
        make = self.one_of([self.pipeline, self.pipeline, self.combined, self.plain])
        return make(frame, task), frame

    def plain(self, frame: pd.DataFrame, task: str) -> Any:
        drop = compose.make_column_transformer(("passthrough", columns(frame, "n")))
        return pipeline.make_pipeline(drop, self.estimator(task))

    def combined(self, frame: pd.DataFrame, task: str) -> Any:
        members = [(f"m{n}", self.pipeline(frame, task)) for n in range(2)]
        given: dict[str, Any] = {"estimators": members}
        kinds = [f"Voting{task}", f"Stacking{task}"]
        kinds += (
            ["CalibratedClassifierCV", "FixedThresholdClassifier", "TunedThresholdClassifierCV"]
            if task == "Classifier"
            else ["TransformedTargetRegressor"]
        )
        name = self.one_of([kind for kind in kinds if kind in CLASSES])
        if name == "TransformedTargetRegressor":
            given = {"regressor": members[0][1], "func": np.log1p, "inverse_func": np.expm1}
        elif not name.startswith(("Voting", "Stacking")):
            given = {"estimator": members[0][1], **({} if name.startswith("Fixed") else {"cv": 2})}
        elif name == "VotingClassifier":
            given["voting"] = "soft"
        return self.of_class(name, **given)


NOT_DRAWN = {
    "estimator", "base_estimator", "estimators", "regressor", "memory", "verbose", "n_jobs", "init",
    "kw_args", "monotonic_cst", "interaction_cst", "categorical_features", "categorical_feature",
    "cat_features", "score_func", "transformer", "steps", "transformers", "transformer_weights",
    "pos_label", "copy",
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("types", [WIDE, WIDE + NARROW], ids=["wide", "narrow"])
@pytest.mark.parametrize("task", ["Classifier", "Regressor"])
def test_no_row_differs_of_a_model_that_push_lets_through(
    connection: Connection, task: str, types: list[str]
) -> None:
    refused, same = 0, 0
    for seed in range(FIRST, FIRST + MODELS * TIMES):
        drawn = Drawn(seed)
        frame = drawn.frame(types)
        model, rows = drawn.model(frame, task)
        kind = drawn.one_of(["two", "two", "three"]) if task == "Classifier" else "number"
        try:
            model.fit(rows, drawn.target(frame, kind)).predict(rows)
        except Exception:
            # Parameters that do not fit each other, or the rows.
            continue
        # A push of drawn rows does not know which columns are float32.
        check = rows if drawn.maybe(0.3) or (rows.dtypes == "float32").any() else True
        try:
            pgboost.push(connection, "model", model, check=check, allow_change=True)
            found = [pgboost.verify(connection, "model", model, rows)]
        except (pgboost.UnsupportedModelError, pgboost.InvalidDataError):
            # Among these are models that do not predict the rows that are drawn.
            refused += 1
            continue
        except pgboost.PredictionsDifferError as error:
            pytest.fail(f"seed {seed}: {error}\n{model}")
        same += 1
        drawn.stored(rows, connection)
        found.append(pgboost.verify(connection, "model", model, "random_rows"))
        assert all(found), (seed, found, model)
        expected = pgboost.predict(connection, "model", rows)
        for name, given in drawn.frames(rows):
            np.testing.assert_array_equal(
                pgboost.predict(connection, "model", given), expected, f"{seed}: {name}, {model}"
            )
    assert same > refused
