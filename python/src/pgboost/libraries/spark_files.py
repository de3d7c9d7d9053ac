"""Reads what Spark MLlib saves: JSON about a stage in `metadata`, and Parquet in its other directories."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NoReturn

from ..errors import UnsupportedModelError, needed


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
