"""The result file: what it holds, how it is written, and that only a whole one is read.

Classes are the schema: `read` refuses a file with a field too few, one too many, or of
another type, so that a page made from it cannot quietly lack a number.
"""

import json
import statistics
import types
import typing
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, is_dataclass
from pathlib import Path

SCHEMA = 1


class BadResult(Exception):
    """A file that is no result; the message names the place."""


@dataclass(frozen=True)
class Loading:
    """How long one source of features took to load."""

    what: str
    rows: int
    seconds: float
    bytes: int


@dataclass(frozen=True)
class Checked:
    """The comparison of all answers that preceded the timing."""

    trees: int
    keys: int
    # The answers that were equal to the bit: how each was asked for, and how many there were.
    compared: dict[str, int]


@dataclass(frozen=True)
class Run:
    """One measured run of a cell."""

    requests: int
    requests_per_second: float
    latency_ms: dict[str, float]
    seconds: float
    server_cpu_seconds: float
    server_pss_bytes: int
    generator_cpu_seconds: float
    generator_pss_bytes: int
    # The load generator's own report, relative to the result file.
    log: str


@dataclass(frozen=True)
class Spread:
    """A figure over all runs of a cell."""

    median: float
    smallest: float
    largest: float

    @classmethod
    def of(cls, values: list[float]) -> "Spread":
        """Of one value or more."""
        return cls(statistics.median(values), min(values), max(values))


@dataclass(frozen=True)
class CellResult:
    """A cell: its runs, or why there are none."""

    name: str
    system: str
    variant: str
    request: str
    trees: int
    clients: int
    predictions_per_request: int
    skipped: str | None
    runs: list[Run]
    requests_per_second: Spread | None
    mean_latency_ms: Spread | None


@dataclass(frozen=True)
class Result:
    """One run of the harness."""

    schema: int
    started: str
    finished: str
    # The commit of this repository, with "+" where files differed from it.
    commit: str
    machine: dict[str, str]
    versions: dict[str, str]
    workload: dict[str, typing.Any]
    configuration: dict[str, typing.Any]
    loading: list[Loading]
    checked: list[Checked]
    cells: list[CellResult]


def write(path: Path, result: Result) -> None:
    """Writes the file whole, after reading it back in memory as anyone else will."""
    text = json.dumps(asdict(result), indent=1) + "\n"
    parse(text)
    part = path.with_suffix(".part")
    part.write_text(text)
    part.rename(path)


def parse(text: str) -> Result:
    """The result in a file's text."""
    value = json.loads(text)
    if isinstance(value, dict) and value.get("schema") != SCHEMA:
        raise BadResult(f"schema {value.get('schema')!r}: this reads {SCHEMA}")
    return _built(Result, value, "result")


def _built(kind: typing.Any, value: typing.Any, where: str) -> typing.Any:
    """The value as what the type says, or an error that names the place."""
    if is_dataclass(kind):
        return _built_class(kind, value, where)
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is types.UnionType:
        one, _ = arguments
        return None if value is None else _built(one, value, where)
    if origin is list and isinstance(value, list):
        return [_built(arguments[0], item, f"{where}[{i}]") for i, item in enumerate(value)]
    if origin is dict and isinstance(value, Mapping):
        return {k: _built(arguments[1], item, f"{where}.{k}") for k, item in value.items()}
    if kind is typing.Any or type(value) is kind or (kind is float and type(value) is int):
        return value
    raise BadResult(f"{where}: {value!r} is no {kind}")


def _built_class(kind: typing.Any, value: typing.Any, where: str) -> typing.Any:
    if not isinstance(value, Mapping):
        raise BadResult(f"{where}: {value!r} is no {kind.__name__}")
    known = typing.get_type_hints(kind)
    names = {field.name for field in fields(kind)}
    if different := names ^ value.keys():
        raise BadResult(f"{where}: lacks or should not have {', '.join(sorted(different))}")
    return kind(**{name: _built(known[name], value[name], f"{where}.{name}") for name in names})
