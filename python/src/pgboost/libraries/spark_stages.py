"""Reads the stages of a pipeline of Spark MLlib, and converts them to functions of one column each.

A stage is saved as JSON about it in `metadata`, and Parquet in its other directories. `StringIndexer` numbers
texts, `OneHotEncoder` makes a feature of each number, and `VectorAssembler` puts columns and vectors into one
vector.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from ..errors import UnsupportedModelError, needed
from ..model_file import typed
from .feature import Feature

# A list has an entry for each of them.
_MOST_CATEGORIES = 65_536


def about_stage(path: Path) -> dict[str, Any]:
    parts = sorted((path / "metadata").glob("part-*"))
    message = f"{path} has no metadata of a model of Spark MLlib"
    try:
        about = json.loads("".join(part.read_text(encoding="utf-8") for part in parts))
    except ValueError as error:
        raise UnsupportedModelError(f"{message}: {error}") from error
    if not isinstance(about, dict):
        raise UnsupportedModelError(message)
    return about


def kind_of(about: dict[str, Any]) -> str:
    return str(about.get("class", "")).rpartition(".")[2]


def parameter(about: dict[str, Any], name: str) -> Any:
    values = {**about.get("defaultParamMap", {}), **about.get("paramMap", {})}
    return values.get(name)


def columns(about: dict[str, Any], side: str) -> list[str]:
    """Returns the columns on a side, `input` or `output`, of which a stage takes one or several."""
    found: list[str] = parameter(about, f"{side}Cols") or [parameter(about, f"{side}Col")]
    return found


def refuse_stage(about: dict[str, Any], reason: str) -> NoReturn:
    release = about.get("sparkVersion", "an unknown release")
    raise UnsupportedModelError(f"the {kind_of(about)} of Spark {release} {reason}")


def rows_of(path: Path) -> list[dict[str, Any]]:
    pyarrow, parquet = (needed(module, "spark") for module in ("pyarrow", "pyarrow.parquet"))
    parts = sorted(path.glob("*.parquet"))
    if not parts:
        raise UnsupportedModelError(f"{path} has no Parquet files of Spark MLlib")
    table = pyarrow.concat_tables(parquet.read_table(part) for part in parts)
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows


class Stages:
    """The columns that stages have made, as the features of their vectors, over those of the table."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._made: dict[str, list[Feature]] = {}
        # The texts of the columns that indexers have made.
        self.texts: dict[str, list[str]] = {}

    def add(self, path: Path, model: Path) -> None:
        about = about_stage(path)
        if kind_of(about) not in _STAGES:
            refuse_stage(
                about, f"comes before the trees: push {model}, and compute its vector in SQL"
            )
        _STAGES[kind_of(about)](self, about, path)

    def vector(self, name: str) -> tuple[list[str], list[Feature]] | None:
        """Returns the columns of the table that a vector is made of, and its features."""
        if name not in self._made:
            return None
        features = self._made[name]
        read = sorted({feature.column for feature in features})
        renumbered = [replace(one, column=read.index(one.column)) for one in features]
        return [self._names[column] for column in read], renumbered

    def _features(self, name: str) -> list[Feature]:
        """Returns the features of a column; one that no stage has made is a number of the table."""
        if name not in self._made:
            self._made[name] = [Feature(len(self._names))]
            self._names.append(name)
        return self._made[name]

    def assemble(self, about: dict[str, Any], _: Path) -> None:
        (made,) = columns(about, "output")
        parts = [self._features(name) for name in columns(about, "input")]
        self._made[made] = [feature for part in parts for feature in part]

    def index(self, about: dict[str, Any], path: Path) -> None:
        """Numbers texts in their order; with `keep`, others and NULL have the next number."""
        keeps = parameter(about, "handleInvalid") == "keep"
        for name, made, texts in _learned(about, path, "labelsArray"):
            (feature,) = self._features(name)
            if not feature.is_raw:
                refuse_stage(about, "indexes what another stage has computed")
            values, other = [*typed(texts).values()], float(len(texts)) if keeps else None
            self._made[made] = [_numbered(feature.column, values, other)]
            self.texts[made] = texts

    def encode(self, about: dict[str, Any], path: Path) -> None:
        keeps = parameter(about, "handleInvalid") == "keep"
        for name, made, size in _learned(about, path, "categorySizes"):
            if not 0 < size <= _MOST_CATEGORIES:
                refuse_stage(about, f"has {size} categories, not 1 to {_MOST_CATEGORIES}")
            (feature,) = self._features(name)
            if feature.is_raw:
                feature = _numbered(feature.column, [*range(size)], float(size) if keeps else None)
            width = size + keeps - bool(parameter(about, "dropLast"))
            self._made[made] = [
                feature.then(partial(_is_category, place, size)) for place in range(width)
            ]


def _learned(about: dict[str, Any], path: Path, key: str) -> Iterator[tuple[str, str, Any]]:
    """Yields each column's name, that of the column made of it, and what the stage has learned of it."""
    (row,) = rows_of(path / "data")
    yield from zip(columns(about, "input"), columns(about, "output"), row[key], strict=True)


def _numbered(column: int, values: list[Any], other: float | None) -> Feature:
    numbers = np.arange(len(values), dtype=np.float64)
    missing = np.nan if other is None else other
    return Feature(column, None, (), (), values, numbers, missing, other)


def _is_category(place: int, size: int, numbers: Any) -> Any:
    """Returns 1 for numbers of a category; the one after the last has all others."""
    is_known = (numbers >= 0) & (numbers < size)
    return np.where(is_known, numbers == place, place == size) * 1.0


_STAGES: dict[str, Callable[[Stages, dict[str, Any], Path], None]] = {
    "VectorAssembler": Stages.assemble,
    "StringIndexerModel": Stages.index,
    "OneHotEncoderModel": Stages.encode,
}
