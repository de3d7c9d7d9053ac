"""The arguments of `load_model`: a model's file, and the members that only its Python object has."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from math import isfinite
from typing import Any

from .comparison import EXACT, Tolerance
from .errors import refuse
from .inputs import Inputs

_OF_TEXTS = {"label_type": "text"}


@dataclass(frozen=True)
class ModelFile:
    """A model in its library's format.

    `values` and `classes` predict a frame as the Python object does: an array of shape `(rows, outputs)`,
    and one of `labels` per row. A file without an object has no `values`; its library loads it.
    """

    content: bytes
    values: Callable[[Any], Any] | None = None
    classes: Callable[[Any], Sequence[str]] | None = None
    # The classes in the order of the outputs.
    labels: Sequence[str] | None = None
    # Whether the file has the labels.
    has_labels: bool = False
    # Whether the labels are texts, which may look like numbers.
    has_texts: bool = False
    # The value above which the second of two classes is predicted.
    cut: float = 0.5
    feature_names: Sequence[str] | None = None
    # The names in a file that replaces each blank by `_`.
    blanks: Sequence[str] = ()
    # The categories to send where none are given, and why there are none, which is an error then.
    categories: Mapping[str, Any] | None = None
    lost: str | None = None
    # The number of rounds to use; None for all.
    rounds: int | None = None
    inputs: Callable[[], Inputs] | None = None
    tolerance: Tolerance = EXACT
    # The file for rows whose numbers are all of `float32`, in which the model's steps compute.
    of_singles: Callable[[], ModelFile] | None = None

    def sent_labels(self) -> Sequence[str] | None:
        return None if self.has_labels else self.labels


def regressor(model: Any, **options: Any) -> Mapping[str, Any]:
    """Returns `values` of any model but a classifier; `options` are those of the library's `predict`."""
    return {"values": lambda frame: model.predict(frame, **options)}


def label_text(label: Any) -> str:
    """Returns a label as SQL writes it."""
    kind = type(label).__name__
    if kind == "datetime64":
        whole, _, fraction = str(label.astype("M8[us]")).replace("T", " ").partition(".")
        return f"{whole}.{fraction}".rstrip("0.") if fraction.strip("0") else whole
    return str(label).lower() if kind in ("bool", "bool_") else str(label)


def classifier(
    model: Any, name: Callable[[Any], str] = label_text, objective: str = "", **options: Any
) -> Mapping[str, Any]:
    """Returns the arguments of `ModelFile` for a classifier with scikit-learn's interface.

    Of two classes, the database has the second column of `predict_proba`, unless the objective is one for any
    number of classes.
    """
    require_classes(model, model.classes_)
    is_second = len(model.classes_) == 2 and not objective.lower().startswith("multi")

    def values(frame: Any) -> Any:
        found = model.predict_proba(frame, **options)
        return found[:, 1] if is_second else found

    return {
        "values": values,
        "classes": lambda frame: [name(label) for label in model.predict(frame, **options).ravel()],
        "labels": [name(label) for label in model.classes_],
        "has_texts": any(isinstance(label, str) for label in model.classes_),
    }


def require_classes(model: Any, classes: Any) -> None:
    """Raises if a classifier was fitted on one class."""
    if len(classes) == 1:
        refuse(model, f"was fitted on one class, {classes[0]}: it predicts nothing else")


def of_labels(model: Any, **options: Any) -> Mapping[str, Any]:
    """Returns `values` of a classifier of several labels, none of which excludes another."""
    return {"values": lambda frame: model.predict_proba(frame, **options)}


def with_label_type(file: ModelFile, params: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Returns the parameters of a version, with the type of labels that are texts but look like numbers."""
    if not file.has_texts or all(isinstance(one, str) for one in typed(file.labels or ()).values()):
        return params
    return {**(params or {}), **_OF_TEXTS}


def values_of(labels: Iterable[str], info: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the values of a version's labels as its model predicts them."""
    is_text = _OF_TEXTS.items() <= (info.get("parameters") or {}).items()
    return {label: label for label in labels} if is_text else typed(labels)


def typed(labels: Iterable[str]) -> dict[str, Any]:
    """Returns the values of labels in their order: booleans or numbers if all are such, or else texts."""
    texts = dict.fromkeys(labels)
    if {text.lower() for text in texts} <= {"true", "false"}:
        return {text: text.lower() == "true" for text in texts}
    values = {text: _number(text) for text in texts}
    return {text: text for text in texts} if None in values.values() else values


def _number(text: str) -> float | None:
    """Returns the number that Python writes as this text, or that a file has without its exponent."""
    for kind in (int, float):
        with suppress(ValueError):
            number = kind(text)
            if isfinite(number) and text in (str(number), f"{Decimal(str(number)):f}"):
                return number
    return None
