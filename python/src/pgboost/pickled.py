"""Opens models in pickles, which runs the code in them."""

from __future__ import annotations

import pickle
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from .errors import UnsupportedModelError, translated
from .libraries.source import library, unwrapped

# The endings of files of pickles.
ENDINGS = (".pkl", ".pickle", ".joblib", ".sav", ".dill", ".cloudpickle", ".skops")


@dataclass(frozen=True)
class Pickled:
    """The model of a pickle, the labels of a LabelEncoder next to it, and the other parts."""

    model: Any
    labels: list[str] | None
    others: list[str]


def opened(path: Path) -> Pickled:
    """Opens a pickle, also of joblib or skops: a model, or a collection with one."""
    with translated(UnsupportedModelError, f"{path} cannot be opened{_written_by(path)}"):
        found = _load(path)
    if library(found) is not None:
        return Pickled(found, None, [])
    parts = _parts(found)
    models = [name for name, part in parts.items() if hasattr(part, "predict") and library(part)]
    if len(models) != 1:
        kind = f"{type(found).__module__}.{type(found).__qualname__}"
        what = (
            f"{len(models)} models"
            if models
            else "no model of XGBoost, LightGBM, CatBoost or scikit-learn"
        )
        raise UnsupportedModelError(f"{path} has a {kind} with {what}: push the model from Python")
    model = parts.pop(models[0])
    classes: Any = getattr(unwrapped(model), "classes_", None)
    for name, part in parts.items():
        is_of_target = type(part).__name__ == "LabelEncoder" and classes is not None
        if is_of_target and list(classes) == list(range(len(part.classes_))):
            others = [_shown(*one) for one in parts.items() if one[0] != name]
            return Pickled(model, [str(label) for label in part.classes_], others)
    return Pickled(model, None, [_shown(*one) for one in parts.items()])


def _parts(found: Any) -> dict[str, Any]:
    if isinstance(found, Mapping):
        return {str(name): part for name, part in found.items()}
    if isinstance(found, (list, tuple)):
        return {str(place): part for place, part in enumerate(found)}
    return {}


def _shown(name: str, part: Any) -> str:
    return f"{name} ({type(part).__qualname__})"


def _written_by(path: Path) -> str:
    """Returns the releases of scikit-learn that wrote an uncompressed pickle and that opens it."""
    release = re.search(rb"_sklearn_version\W{1,9}(\d+\.\d+[\w.]*)", path.read_bytes())
    if release is None:
        return ""
    return f" by scikit-learn {version('scikit-learn')}, since {release[1].decode()} wrote it"


def _load(path: Path) -> Any:
    if path.suffix == ".skops":
        skops = import_module("skops.io")
        return skops.load(path, trusted=skops.get_untrusted_types(file=path))
    try:
        joblib = import_module("joblib")
    except ImportError:
        with path.open("rb") as file:
            return pickle.load(file)
    return joblib.load(path)
