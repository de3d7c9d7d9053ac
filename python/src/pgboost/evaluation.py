"""Evaluates models, and compares data with the data that they were trained on.

`source` is a table, a view or one query, as in SQL, or a pandas `DataFrame`, which is in a temporary table
meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .connecting import Connection, connected
from .errors import InvalidDataError, translated
from .extension import Extension
from .rows import source_of

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
    columns = {"target": target, "weight": weight, "slice_by": slice_by, "qid": qid}
    given = {"model": model, **columns, "quantile_alpha": list_of(quantile_alpha)}
    return table_of(connection, "evaluate_model", source, given)


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
    models = {"baseline": baseline, "candidate": candidate}
    given = {
        **models,
        "target": target,
        "weight": weight,
        "quantile_alpha": list_of(quantile_alpha),
    }
    return table_of(connection, "compare_models", source, given)


@translated(InvalidDataError)
def drift(connection: Connection, model: str, source: Any) -> pandas.DataFrame:
    """Returns the drift of each feature from the model's baseline, as SQL's `feature_drift` does."""
    return table_of(connection, "feature_drift", source, {"model": model})


@translated(InvalidDataError)
def set_baseline(connection: Connection, model: str, source: Any) -> None:
    """Stores the distribution of each feature in the source, for `drift` to compare with."""
    with connected(connection) as database, source_of(database, source) as rows:
        Extension(database).call("set_baseline", {"model": model, "source": rows})


def table_of(
    connection: Connection, function: str, source: Any, given: dict[str, Any]
) -> pandas.DataFrame:
    """Calls a function of a source that returns a table."""
    with connected(connection) as database, source_of(database, source) as rows:
        return Extension(database).table(function, {**given, "source": rows})


def list_of(numbers: Sequence[float] | None) -> list[float] | None:
    """Converts numbers to one type, since psycopg 3 sends no list of two."""
    return None if numbers is None else [float(number) for number in numbers]
