"""Evaluates models, shows the effects of features, and compares data with those that models were trained on.

`source` is a table, a view or one query, as in SQL, or a pandas `DataFrame`, which is in a temporary table
meanwhile. The other arguments are those of SQL's functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from .connecting import Connection, connected
from .errors import InvalidDataError, translated
from .extension import Extension
from .rows import LARGE, source_of

if TYPE_CHECKING:
    import pandas


@translated(InvalidDataError)
def evaluate(  # noqa: PLR0913 (SQL's arguments)
    connection: Connection,
    model: str,
    source: Any,
    target: str,
    *,
    weight: str | None = None,
    slice_by: str | None = None,
    qid: str | None = None,
    quantile_alpha: Sequence[float] | None = None,
) -> pandas.DataFrame:
    """Returns all metrics of a model, as SQL's `evaluate_model` does: slice, metric, value, rows.

    `target`, `weight`, `slice_by` and `qid` are columns of the source.
    """
    return _table("evaluate_model", locals())


@translated(InvalidDataError)
def compare(  # noqa: PLR0913 (SQL's arguments)
    connection: Connection,
    baseline: str,
    candidate: str,
    source: Any,
    target: str,
    *,
    weight: str | None = None,
    quantile_alpha: Sequence[float] | None = None,
) -> pandas.DataFrame:
    """Compares two models on the same rows, as SQL's `compare_models` does: losses and a verdict."""
    return _table("compare_models", locals())


@translated(InvalidDataError)
def drift(connection: Connection, model: str, source: Any) -> pandas.DataFrame:
    """Returns the drift of each feature from the model's baseline, as SQL's `feature_drift` does."""
    return _table("feature_drift", locals())


@translated(InvalidDataError)
def set_baseline(connection: Connection, model: str, source: Any) -> None:
    """Stores the distribution of each feature in the source, for `drift` to compare with."""
    with connected(connection) as database:
        extension = Extension(database)
        with source_of(extension, source, model) as rows:
            extension.call("set_baseline", {"model": model, "source": rows})


@translated(InvalidDataError)
def partial_dependence(  # noqa: PLR0913 (SQL's arguments)
    connection: Connection,
    model: str,
    source: Any,
    feature: str,
    second_feature: str | None = None,
    *,
    points: int | None = None,
    percentiles: Sequence[float] | None = None,
    weight: str | None = None,
) -> pandas.DataFrame:
    """Returns the mean prediction for each value of a feature, or of two, as SQL's function does.

    The columns are output, the features, and average. A missing value is None. Numbers are floats; integers
    that these would round are integers.
    """
    found = _table("partial_dependence", locals())
    names = [name for name in (feature, second_feature) if name is not None]
    columns = dict(zip(["value", "second_value"], names, strict=False))
    found = found.rename(columns=columns)[["output", *names, "average"]]
    for name in names:
        found[name] = _numbers(found[name])
    return found


@translated(InvalidDataError)
def permutation_importance(  # noqa: PLR0913 (SQL's arguments)
    connection: Connection,
    model: str,
    source: Any,
    target: str,
    metric: str | None = None,
    *,
    repeats: int | None = None,
    weight: str | None = None,
    qid: str | None = None,
    quantile_alpha: Sequence[float] | None = None,
    seed: int | None = None,
) -> pandas.DataFrame:
    """Returns how much worse a metric is when a feature is shuffled, as SQL's function does.

    The columns are feature, importance and stddev.
    """
    return _table("permutation_importance", locals())


def _table(function: str, given: dict[str, Any]) -> pandas.DataFrame:
    """Calls a function of a source that returns a table, with the arguments of the caller."""
    connection, source = given["connection"], given["source"]
    model = given.get("model", given.get("baseline"))
    arguments = {name: value for name, value in given.items() if name != "connection"}
    with connected(connection) as database:
        extension = Extension(database)
        with source_of(extension, source, model) as rows:
            return extension.table(function, {**arguments, "source": rows})


def _numbers(values: pandas.Series) -> pandas.Series:
    """Converts texts to floats if all are numbers, or to integers if floats would round them."""
    with suppress(ValueError):
        numbers = values.astype(float)
        if (numbers.abs() >= LARGE).any():
            with suppress(ValueError):
                return values.map({text: int(text) for text in values.dropna()}.get).astype(object)
        return numbers
    return values
