"""Effects of features: partial dependence, and permutation importance.

`source` is a table, a view or one query, as in SQL, or a pandas `DataFrame`, which is in a temporary table
meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .connecting import Connection
from .errors import InvalidDataError, translated
from .evaluation import list_of, table_of

if TYPE_CHECKING:
    import pandas


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

    The columns are output, the features, and average. A missing value is None. Numbers are floats.
    """
    features = {"feature": feature, "second_feature": second_feature}
    given = {"points": points, "percentiles": list_of(percentiles), "weight": weight}
    found = table_of(
        connection, "partial_dependence", source, {"model": model, **features, **given}
    )
    names = [name for name in features.values() if name is not None]
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
    columns = {"target": target, "weight": weight, "qid": qid}
    given = {"model": model, "metric": metric, "repeats": repeats, "seed": seed, **columns}
    given["quantile_alpha"] = list_of(quantile_alpha)
    return table_of(connection, "permutation_importance", source, given)


def _numbers(values: pandas.Series) -> pandas.Series:
    """Converts texts to floats if all are numbers."""
    try:
        return values.astype(float)
    except ValueError:
        return values
