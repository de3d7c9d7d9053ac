"""What `load_model` takes: a model's file, and what its Python object knows beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ModelFile:
    """A model in its library's own format.

    `values` and `classes` predict for a frame as the Python object does: `values` returns an array
    of shape `(rows, outputs)`, `classes` one label per row. They serve `verify`.
    """

    content: bytes
    values: Callable[[Any], Any]
    classes: Callable[[Any], Any] | None = None
    labels: Sequence[str] | None = None
    feature_names: Sequence[str] | None = None
    # Values of each categorical feature in the order of their codes, where the file lacks them.
    categories: Mapping[str, Sequence[Any]] | None = None
    # The number of rounds to use; None for all.
    rounds: int | None = None


def probabilities(model: Any) -> Callable[[Any], Any]:
    """A classifier's `predict_proba`, of whose two columns for two classes the database has the second."""
    if len(model.classes_) > 2:
        return model.predict_proba
    return lambda frame: model.predict_proba(frame)[:, 1]
