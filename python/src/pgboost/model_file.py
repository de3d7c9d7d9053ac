"""What `load_model` takes: a model's file, and what its Python object knows in addition."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .comparison import EXACT, Tolerance
from .inputs import Inputs


@dataclass(frozen=True)
class ModelFile:
    """A model in its library's own format.

    `values` and `classes` predict for a frame as the Python object does: `values` returns an array
    of shape `(rows, outputs)`, `classes` one of `labels` per row. A file without an object has no
    `values`; the library makes the object of the file.
    """

    content: bytes
    values: Callable[[Any], Any] | None = None
    classes: Callable[[Any], Sequence[str]] | None = None
    # The classes in the order of the outputs.
    labels: Sequence[str] | None = None
    # Whether the file has the labels, so that they need not be sent.
    has_labels: bool = False
    # Of two classes, the value above which the second is predicted.
    cut: float = 0.5
    feature_names: Sequence[str] | None = None
    # The number of rounds to use; None for all.
    rounds: int | None = None
    # What the trees ask of each feature.
    inputs: Callable[[], Inputs] | None = None
    tolerance: Tolerance = EXACT

    def sent_labels(self) -> Sequence[str] | None:
        """The labels that the file does not have."""
        return None if self.has_labels else self.labels


def regressor(model: Any, **options: Any) -> Mapping[str, Any]:
    """The predictions of any model but a classifier, as an argument of `ModelFile`.

    `options` are those of the library's `predict`.
    """
    return {"values": lambda frame: model.predict(frame, **options)}


def classifier(model: Any, name: Callable[[Any], str] = str, **options: Any) -> Mapping[str, Any]:
    """What every classifier of scikit-learn's interface has, as arguments of `ModelFile`.

    Of the two columns of `predict_proba` for two classes, the database has the second.
    """

    def values(frame: Any) -> Any:
        found = model.predict_proba(frame, **options)
        return found[:, 1] if len(model.classes_) == 2 else found

    return {
        "values": values,
        "classes": lambda frame: [name(label) for label in model.predict(frame, **options).ravel()],
        "labels": [name(label) for label in model.classes_],
    }
