"""The table of LightGBM's and CatBoost's models: columns of nine types, with values missing."""

import numpy as np
import pandas as pd

ROWS = 20_000
KINDS = {
    "single": "float4",
    "double": "float8",
    "exact": "numeric",
    "small": "int2",
    "whole": "int4",
    "large": "int8",
    "colour": "text",
    "size": "int8",
    "flag": "bool",
}


def numbers(draw: np.random.Generator, decades: int) -> dict[str, np.ndarray]:
    """The columns of numbers; doubles are within this number of decades on either side of 1."""

    def gone(column: np.ndarray) -> np.ndarray:
        return np.where(draw.random(ROWS) < 0.05, np.nan, column)

    return {
        "single": gone(np.round(draw.normal(size=ROWS), 2).astype(np.float32)),
        "double": gone(draw.normal(size=ROWS) * 10.0 ** draw.integers(-decades, decades, ROWS)),
        "exact": gone(np.round(draw.normal(size=ROWS), 3)),
        "small": gone(draw.integers(-5, 6, ROWS)),
        "whole": gone(draw.integers(-(2**30), 2**30, ROWS)),
        "large": gone(draw.integers(-(2**53), 2**53, ROWS)),
    }


def score_of_numbers(frame: pd.DataFrame) -> np.ndarray:
    """The part of a label from the columns of numbers, except `exact`."""
    score = np.nan_to_num(frame["single"]) + np.sign(np.nan_to_num(frame["double"]))
    return score + np.nan_to_num(frame["whole"]) / 2**30 + np.nan_to_num(frame["large"]) / 2**53


def rows_of(frame: pd.DataFrame, kinds: dict[str, str] = KINDS) -> list[list]:
    """The rows as SQL has them: integers for whole numbers, None for missing values."""
    whole = [kind in ("int2", "int4", "int8") for kind in kinds.values()]

    def value(given: object, is_whole: bool) -> object:
        if pd.isna(given):
            return None
        return int(given) if is_whole else given

    rows = frame.itertuples(index=False)
    return [[value(*pair) for pair in zip(row, whole, strict=True)] for row in rows]
