"""What the rungs in Python predict with: a booster, and three ways from a row to its features.

`codes` looks categories up in a dictionary. `pipeline` is scikit-learn's: a data frame of one row and a
transformer for each column, as the document has it. Its scalers scale by one: a tree does not mind how a
number is scaled, and so every rung can have the same model and the same answers.
"""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from python_baseline import releases

CANDIDATES, STRIDE, WANTED = 1_682, 7_919, 10
CANDIDATE_NUMBERS = np.arange(CANDIDATES)
KEYS = 50

Row = Sequence[str | float | None]
Preprocess = Callable[[Row], np.ndarray]


def codes(columns: Sequence[dict[str, Any]]) -> Preprocess:
    """By a dictionary a column."""
    known = [
        {name: float(code) for code, name in enumerate(one["categories"])}
        if one["categories"]
        else None
        for one in columns
    ]
    nan = float("nan")

    def preprocess(row: Row) -> np.ndarray:
        pairs = zip(row, known, strict=True)
        found = [nan if v is None else of.get(v, nan) if of else v for v, of in pairs]
        return np.array([found], dtype=np.float32)

    return preprocess


def pipeline(columns: Sequence[dict[str, Any]]) -> Preprocess:
    """By scikit-learn's ColumnTransformer: ordinal codes for text, and for numbers two scalers in turn."""
    import pandas as pd  # noqa: PLC0415
    from sklearn.compose import ColumnTransformer  # noqa: PLC0415
    from sklearn.preprocessing import (  # noqa: PLC0415
        MinMaxScaler,
        OrdinalEncoder,
        StandardScaler,
    )

    names, steps, numbers = [one["name"] for one in columns], [], 0
    # Fitted on these, both scalers multiply by one and add nothing.
    first, second = {}, {}
    for column in columns:
        name, known = column["name"], column["categories"]
        if known:
            scale = OrdinalEncoder(
                categories=[known], handle_unknown="use_encoded_value", unknown_value=np.nan
            )
            first[name], second[name] = known[0], known[-1]
        else:
            scale = StandardScaler() if numbers % 2 else MinMaxScaler()
            first[name], second[name] = (-1.0, 1.0) if numbers % 2 else (0.0, 1.0)
            numbers += 1
        steps.append((name, scale, [name]))
    fitted = ColumnTransformer(steps).fit(pd.DataFrame([first, second], columns=names))
    texts = [one["name"] for one in columns if one["categories"]]
    kinds = {name: object if name in texts else np.float64 for name in names}

    def preprocess(row: Row) -> np.ndarray:
        table = pd.DataFrame([row], columns=names).astype(kinds)
        return fitted.transform(table).astype(np.float32)

    return preprocess


PREPROCESSORS = {"codes": codes, "pipeline": pipeline}


class Predictor:
    """A model, and the verbs of the contract."""

    def __init__(self, model: str, rows: str, how: str = "codes", in_place: bool = True) -> None:
        self._xgboost = releases.load("pinned")
        known = json.loads(Path(rows).read_text())
        self.columns = known["columns"]
        # Of keys, counted from 1.
        self.rows = np.array(known["features"], dtype=np.float32)
        settings = {"nthread": 1} if in_place else {}
        self._booster = self._xgboost.Booster(settings, model_file=model)
        self._preprocess = PREPROCESSORS[how](self.columns)
        self._in_place = in_place

    def predict(self, features: np.ndarray) -> float:
        """The value of one row, of shape (1, features)."""
        if self._in_place:
            return float(self._booster.inplace_predict(features, validate_features=False)[0])
        matrix = self._xgboost.DMatrix(features)
        return float(self._booster.predict(matrix, validate_features=False)[0])

    def keys(self, wanted: Sequence[int]) -> list[float]:
        """Of rows that are known here."""
        features = self.rows[np.array(wanted) - 1]
        return self._booster.inplace_predict(features, validate_features=False).tolist()

    def top(self, key: int) -> list[int]:
        """The best of a key's candidates, of equal ones the smaller first, as rows/best.go has them."""
        rows = (key * STRIDE + CANDIDATE_NUMBERS) % len(self.rows)
        values = self._booster.inplace_predict(self.rows[rows], validate_features=False)
        good = values >= np.partition(values, -WANTED)[-WANTED]
        order = np.lexsort((rows[good], -values[good]))[:WANTED]
        return (rows[good][order] + 1).tolist()

    def features(self, values: Sequence[float | None]) -> float:
        """From features."""
        return self.predict(np.array([values], dtype=np.float32))

    def raw(self, row: Row) -> float:
        """From a row as the application has it."""
        return self.predict(self._preprocess(row))

    def http(self) -> dict[str, Callable[[bytes], Any]]:
        """What a body in JSON is answered, by its verb."""
        return {
            "ping": lambda _: 0,
            "echo": lambda body: 0 * len(orjson.loads(body)),
            "raw": lambda body: self.raw(orjson.loads(body)),
            "features": lambda body: self.features(orjson.loads(body)),
            "key": lambda body: self.keys([orjson.loads(body)])[0],
            "keys": lambda body: self.keys(orjson.loads(body)),
            "top": lambda body: self.top(orjson.loads(body)),
        }
