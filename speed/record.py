"""What a run leaves: inside.json, with every repetition of everything that was measured.

A subject's series were measured in turn: their values at the same place are of the same
repetition, so that a ratio is taken within each. The reader refuses a file that
lacks a field or has one too many.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.results import BadResult, built

SCHEMA = 1
FILE = "inside.json"
# What series are named by: models, protocols and clients of the one-row query, batches or not.
SMALL, LARGE = "25x6", "500x8"
PROTOCOLS, CLIENTS = ("simple", "prepared"), (1, 5, 20)
# Forms of the one-row query that are measured beside columns, with so many clients.
OTHER_FORMS, OTHER_CLIENTS = ("row", "jsonb"), 5
BATCHES = ("on", "off")


@dataclass(frozen=True)
class Subject:
    """One thing that was measured: its unit, and each series' value in each repetition."""

    unit: str
    series: dict[str, list[float]]

    def __post_init__(self) -> None:
        lengths = {len(values) for values in self.series.values()}
        if len(lengths) != 1 or 0 in lengths:
            raise BadResult("series of a subject that are empty or of different lengths")


Subjects = dict[str, Subject]


@dataclass(frozen=True)
class Model:
    """A model that was predicted with, by its label."""

    trees: int
    depth: int
    file_bytes: int
    image_bytes: int


@dataclass(frozen=True)
class Inside:
    """A run."""

    schema: int
    started: str
    finished: str
    # The commit of this repository, with "+" where files differed from it.
    commit: str
    machine: dict[str, str]
    versions: dict[str, str]
    # PostgreSQL's settings that are not its defaults, and those that matter here.
    settings: dict[str, str]
    # How much of everything was asked for: rows, repetitions, connections, seconds.
    workload: dict[str, Any]
    models: dict[str, Model]
    subjects: Subjects


def parse(text: str) -> Inside:
    """The run in a file's text."""
    value = json.loads(text)
    if value.get("schema") != SCHEMA:
        raise BadResult(f"schema {value.get('schema')!r}: this reads {SCHEMA}")
    return built(Inside, value, "inside")


def write(directory: Path, run: Inside) -> Path:
    """Writes the file, after reading it back in memory as anyone else will."""
    text = json.dumps(asdict(run), indent=1) + "\n"
    parse(text)
    path = directory / FILE
    path.write_text(text)
    return path
