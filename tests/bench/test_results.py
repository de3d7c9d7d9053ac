"""A result file is read whole or not at all."""

import copy
import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from bench.results import (
    SCHEMA,
    BadResult,
    CellResult,
    Checked,
    Loading,
    Result,
    Run,
    Spread,
    parse,
    write,
)  # fmt: skip

RUN = Run(100, 50.5, {"mean": 1.25, "p99": 3.5}, 2.0, 1.5, 1 << 20, 0.5, 1 << 16, "raw/cell-1.txt")
MEASURED = CellResult(
    "a/http/hot/25t/5c", "a", "http", "hot", 25, 5, 1, None, [RUN, RUN],
    Spread.of([50.5, 50.5]), Spread.of([1.25, 1.25]),
)  # fmt: skip
SKIPPED = CellResult(
    "b/prepared/hot/25t/5c", "b", "prepared", "hot", 25, 5, 1, "too old", [], None, None
)
RESULT = Result(
    SCHEMA, "2026-01-01T00:00:00+00:00", "2026-01-01T00:01:00+00:00", "0" * 40,
    {"processor": "one"}, {"postgresql": "15"}, {"seed": 1, "clients": {"hot": [1, 5]}},
    {"a": {"workers": 2}}, [Loading("redis", 10, 1.0, 100)], [Checked(25, 10, {"a, one": 10})],
    [MEASURED, SKIPPED],
)  # fmt: skip


def test_what_was_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    write(path, RESULT)
    assert parse(path.read_text()) == RESULT
    assert [file.name for file in tmp_path.iterdir()] == ["results.json"]


def places(value: Any, *before: str | int) -> Iterator[tuple[str | int, ...]]:
    """Every field of a class in the document, as the way to it; free-form parts left out."""
    free = ("machine", "versions", "workload", "configuration", "latency_ms", "compared")
    if isinstance(value, dict):
        for name, inner in value.items():
            yield (*before, name)
            if name not in free:
                yield from places(inner, *before, name)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from places(inner, *before, index)


DOCUMENT = asdict(RESULT)
PLACES = [*places(DOCUMENT)]


def changed(place: tuple[str | int, ...]) -> tuple[dict[str, Any], dict[str, Any]]:
    """A copy of the document, and the object in it that holds the place."""
    document = copy.deepcopy(DOCUMENT)
    holder: Any = document
    for step in place[:-1]:
        holder = holder[step]
    return document, holder


@pytest.mark.parametrize("place", PLACES, ids=str)
def test_a_file_that_lacks_a_field_is_refused(place: tuple[str | int, ...]) -> None:
    document, holder = changed(place)
    del holder[place[-1]]
    with pytest.raises(BadResult, match=str(place[-1])):
        parse(json.dumps(document))


@pytest.mark.parametrize("place", PLACES, ids=str)
def test_a_file_with_another_type_is_refused(place: tuple[str | int, ...]) -> None:
    document, holder = changed(place)
    was = holder[place[-1]]
    holder[place[-1]] = [1] if isinstance(was, str | int | float | dict) or was is None else "text"
    with pytest.raises(BadResult, match=str(place[-1])):
        parse(json.dumps(document))


def test_a_field_too_many_is_refused() -> None:
    document = copy.deepcopy(DOCUMENT)
    document["cells"][0]["runs"][0]["note"] = "x"
    with pytest.raises(BadResult, match=r"cells\[0\]\.runs\[0\].*note"):
        parse(json.dumps(document))


@pytest.mark.parametrize("text", ["[]", "1", '"x"', "null"])
def test_what_is_no_object_is_refused(text: str) -> None:
    with pytest.raises(BadResult):
        parse(text)


def test_another_schema_is_refused() -> None:
    with pytest.raises(BadResult, match="schema 2"):
        parse(json.dumps(DOCUMENT | {"schema": 2}))


def test_a_spread_is_median_and_range() -> None:
    assert Spread.of([3.0, 1.0, 2.0, 10.0]) == Spread(2.5, 1.0, 10.0)
