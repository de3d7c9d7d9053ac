"""Draws the rows with which `push` compares a model before it is deployed.

A model of trees changes its prediction only at thresholds. So the numbers of a feature are drawn on, next to
and between the thresholds of its splits, every category occurs, and some values are missing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

ROWS = 1000
_SEED = 1
_MISSING = 0.1
_ZERO = 0.03


@dataclass(frozen=True)
class Inputs:
    """A model's features by their position; `dtype` is the type of NumPy in which the library compares."""

    width: int
    thresholds: Mapping[int, Any]
    dtype: Any
    names: Sequence[str] | None = None
    # The values of categorical features. They are of pandas' category type, unless `plain`.
    categories: Mapping[int, Sequence[Any]] = field(default_factory=dict)
    plain: bool = False
    # Whether the model has hashes of categories, so that it knows any text.
    hashed: bool = False
    # The categorical features of which the model has only codes.
    coded: Collection[int] = ()
    missing: bool = True
    # The features whose missing texts are None, not NaN, to the model.
    nones: Collection[int] = ()
    # The features that encoders read, whose numbers may have been objects in training.
    encoded: Collection[int] = ()
    # The smallest numbers that the model takes, of features that have one.
    lowest: Mapping[int, float] = field(default_factory=dict)


def drawn(
    inputs: Inputs, features: Sequence[str], categories: Mapping[str, Sequence[Any]] | None = None
) -> Any:
    """Returns a frame of at least `ROWS` rows; an array if the features have no names.

    `categories` has values by the name in `features`, for features of which the model has codes.
    """
    import numpy as np

    given = {list(features).index(name): values for name, values in (categories or {}).items()}
    if given:
        merged = {**inputs.categories, **given}
        inputs = replace(inputs, categories=merged, names=inputs.names or features)
    plain = {*inputs.categories} - {*given} if inputs.plain else set()
    categories = {
        column: [*values, None] if column in inputs.nones and column in plain else values
        for column, values in inputs.categories.items()
    }
    inputs = replace(inputs, categories=categories)
    generator = np.random.default_rng(_SEED)
    rows = max([ROWS, *(len(values) + 1 for values in inputs.categories.values())])
    numbers = np.empty((rows, inputs.width), inputs.dtype)
    for column in range(inputs.width):
        thresholds = np.unique(np.asarray(inputs.thresholds.get(column, ()), inputs.dtype))
        # A split of missing values from others is at the largest number, or at infinity.
        usual = thresholds[np.abs(thresholds) < np.finfo(inputs.dtype).max / 16]
        numbers[:, column] = _numbers(generator, usual, rows)
    numbers[generator.random(numbers.shape) < _ZERO] = 0
    # LightGBM takes numbers up to 1e-35 for zeros, only in some forms of a frame; a scaler may come first.
    numbers[np.abs(numbers) <= 1e-30] = 0
    for column, number in inputs.lowest.items():
        numbers[:, column] = np.maximum(numbers[:, column], number)
    if inputs.missing:
        numbers[generator.random(numbers.shape) < _MISSING] = np.nan
    if inputs.names is None:
        text = any(
            isinstance(value, str) for values in inputs.categories.values() for value in values
        )
        numbers = numbers.astype(object) if text or inputs.encoded else numbers
        for column, values in inputs.categories.items():
            numbers[:, column] = generator.permutation(np.resize(values, rows))
        return numbers
    return _frame(generator, numbers, inputs, plain)


def _numbers(generator: Any, thresholds: Any, rows: int) -> Any:
    """Draws as many numbers between any two thresholds, and a third of all on or next to a threshold."""
    import numpy as np

    if not len(thresholds):
        return generator.normal(size=rows)
    spread = np.ptp(thresholds) / 8 + abs(thresholds[0]) / 8 + thresholds.dtype.type(1e-3)
    edges = np.concatenate(([thresholds[0] - spread], thresholds, [thresholds[-1] + spread]))
    lower = generator.integers(0, len(edges) - 1, rows)
    share = generator.uniform(0.25, 0.75, rows).astype(edges.dtype)
    between = edges[lower] + (edges[lower + 1] - edges[lower]) * share
    on = generator.choice(thresholds, rows)
    near = np.stack([on, np.nextafter(on, -np.inf), np.nextafter(on, np.inf)])
    near = near[generator.integers(0, 3, rows), np.arange(rows)].astype(edges.dtype)
    return np.where(generator.random(rows) < 1 / 3, near, between)


def _frame(generator: Any, numbers: Any, inputs: Inputs, plain: Collection[int]) -> Any:
    import numpy as np
    import pandas

    frame = pandas.DataFrame(numbers, columns=list(inputs.names or ()), copy=False)
    for column, values in inputs.categories.items():
        # The code of a missing value is -1.
        codes = np.arange(0 if column in plain else -1, len(values))
        codes = generator.permutation(np.resize(codes, len(frame)))
        if column in plain:
            # pandas 3 would make NaN of None in text.
            kind = object if None in values or column in inputs.encoded else None
            cells = pandas.Series([values[code] for code in codes], dtype=kind)
        else:
            cells = pandas.Series(pandas.Categorical.from_codes(codes, pandas.Index(values)))
        frame = frame.assign(**{frame.columns[column]: cells})
    return frame
