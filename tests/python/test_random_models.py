"""Random models, of random parameters and frames: SQL predicts what Python predicts, or push refuses."""

import inspect
from typing import Any

import numpy as np
import pandas as pd
import psycopg
import pytest
import xgboost
from sklearn import compose, pipeline

import catboost
import lightgbm
import pgboost
from tests.python import estimators
from tests.times import TIMES

MODELS = 60
CLASSES = {kind.__name__: kind for kind in estimators.classes()}
SCALERS = ["StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler"]
STEPS = [*SCALERS, "KBinsDiscretizer", "FunctionTransformer", "PolynomialFeatures"]
STEPS += ["SimpleImputer", "MissingIndicator"]
ENCODERS = ["OneHotEncoder", "OrdinalEncoder", "TargetEncoder"]
TREES = ["DecisionTree", "ExtraTree", "RandomForest", "ExtraTrees", "Bagging", "GradientBoosting"]
TREES += ["HistGradientBoosting"]
WIDE, NARROW = (
    ["float64", "int64", "int32", "uint32"],
    ["float32", "int8", "uint8", "int16", "bool"],
)
QUIET = {
    "XGB": {"n_estimators": 5, "max_depth": 4},
    "LGBM": {"n_estimators": 5, "verbose": -1, "min_child_samples": 5},
    "CatBoost": {"iterations": 5, "verbose": False, "allow_writing_files": False},
}


class Drawn:
    """What a seed draws."""

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
        """A column of numbers, which may repeat."""
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
        columns = {
            f"n{number}": pd.Series(self.numbers(dtype)).astype(dtype)
            for number, dtype in enumerate(self.generator.choice(types, 4))
        }
        columns |= {"t0": self.texts(), "t1": self.texts()}
        return pd.DataFrame(columns)

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
        """An instance with some parameters other than their defaults."""
        kind = CLASSES[name]
        parameters = inspect.signature(kind).parameters
        chosen: dict[str, Any] = {
            key: value for key, value in estimators.FEW.items() if key in parameters
        }
        for parameter in parameters:
            found = estimators.values(kind, parameter) if parameter not in NOT_DRAWN else []
            if found and self.maybe(0.25):
                value = self.one_of(found)
                chosen |= value if isinstance(value, estimators.With) else {parameter: value}
        return kind(**{**chosen, **given})

    def estimator(self, task: str) -> Any:
        if self.maybe(0.3):
            library, name = self.one_of(
                [(xgboost, "XGB"), (lightgbm, "LGBM"), (catboost, "CatBoost")]
            )
            return getattr(library, f"{name}{task}")(**QUIET[name])
        if task == "Classifier" and self.maybe(0.1):
            return self.of_class("AdaBoostClassifier")
        return self.of_class(f"{self.one_of(TREES)}{task}")

    def pipeline(self, frame: pd.DataFrame, task: str) -> Any:
        """Steps of some columns, perhaps a step of all that these give, and an estimator."""
        numbers, texts = [n for n in frame if n[0] == "n"], [n for n in frame if n[0] == "t"]
        parts = []
        for _ in range(int(self.generator.integers(1, 4))):
            step = self.of_class(self.one_of(STEPS))
            if self.maybe(0.4):
                imputer = self.of_class("SimpleImputer", missing_values=np.nan)
                step = pipeline.make_pipeline(imputer, step)
            parts.append((step, self.some_of(numbers)))
        if self.maybe(0.7):
            parts.append(
                (self.of_class(self.one_of(ENCODERS), categories="auto"), self.some_of(texts))
            )
        columns = compose.make_column_transformer(
            *parts,
            ("passthrough", self.some_of(numbers)),
            sparse_threshold=self.one_of([0, 0.3, 1]),
        )
        steps = [columns]
        if self.maybe(0.3):
            steps.append(self.of_class(self.one_of([*SCALERS, "SelectKBest", "VarianceThreshold"])))
        return pipeline.make_pipeline(*steps, self.estimator(task))

    def model(self, frame: pd.DataFrame, task: str) -> Any:
        make = self.one_of([self.pipeline, self.pipeline, self.combined, self.plain])
        return make(frame, task)

    def plain(self, frame: pd.DataFrame, task: str) -> Any:
        drop = compose.make_column_transformer(("passthrough", [n for n in frame if n[0] == "n"]))
        return pipeline.make_pipeline(drop, self.estimator(task))

    def combined(self, frame: pd.DataFrame, task: str) -> Any:
        members = [(f"m{n}", self.pipeline(frame, task)) for n in range(2)]
        given: dict[str, Any] = {"estimators": members}
        kinds = [f"Voting{task}", f"Stacking{task}"]
        kinds += (
            ["CalibratedClassifierCV", "FixedThresholdClassifier"]
            if task == "Classifier"
            else ["TransformedTargetRegressor"]
        )
        name = self.one_of([kind for kind in kinds if kind in CLASSES])
        if name == "TransformedTargetRegressor":
            given = {"regressor": members[0][1], "func": np.log1p, "inverse_func": np.expm1}
        elif not name.startswith(("Voting", "Stacking")):
            given = {"estimator": members[0][1], "cv": 2}
            given = given if name.startswith("Calibrated") else {"estimator": members[0][1]}
        elif name == "VotingClassifier":
            given["voting"] = "soft"
        return self.of_class(name, **given)


NOT_DRAWN = {
    "estimator",
    "base_estimator",
    "estimators",
    "regressor",
    "memory",
    "verbose",
    "n_jobs",
}
NOT_DRAWN |= {
    "init",
    "kw_args",
    "monotonic_cst",
    "interaction_cst",
    "categorical_features",
    "score_func",
}
NOT_DRAWN |= {"transformer", "steps", "transformers", "transformer_weights", "pos_label", "copy"}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("types", [WIDE, WIDE + NARROW], ids=["wide", "narrow"])
@pytest.mark.parametrize("task", ["Classifier", "Regressor"])
def test_no_row_differs_of_a_model_that_push_lets_through(
    connection: psycopg.Connection, task: str, types: list[str]
) -> None:
    refused, same = 0, 0
    for seed in range(MODELS * TIMES):
        drawn = Drawn(seed)
        frame = drawn.frame(types)
        model = drawn.model(frame, task)
        kind = drawn.one_of(["two", "two", "three"]) if task == "Classifier" else "number"
        try:
            model.fit(frame, drawn.target(frame, kind)).predict(frame)
        except Exception:
            # Parameters that do not fit each other, or the rows.
            continue
        try:
            pgboost.push(connection, "model", model)
            found = pgboost.verify(connection, "model", model, frame)
        except pgboost.UnsupportedModelError:
            refused += 1
        except pgboost.PredictionsDifferError as error:
            pytest.fail(f"seed {seed}: {error}\n{model}")
        else:
            same += 1
            assert found, (seed, found, model)
    assert same > refused > 0
