"""Pictures have text that can be selected, the same bytes each time, and show what the results hold."""

import re
from dataclasses import replace

import pytest

from bench.report.figures import whole
from bench.report.files import Sources
from bench.report.measured import SIMPLE, RequestSpec, entry
from bench.report.pictures import PICTURES, svg
from tests.bench.report.conftest import scaled


def texts(name: str, made: Sources) -> list[str]:
    """Returns a picture's texts."""
    return [text.strip() for text in re.findall(r"<text[^>]*>([^<]*)</text>", svg(name, made))]


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_has_text_and_follows_its_figures(name: str, made: Sources) -> None:
    said = texts(name, made)
    assert SIMPLE.label in said
    assert svg(name, made) == svg(name, made)
    faster = replace(made, local=scaled(made.local, "postgres_direct", 3))
    assert svg(name, faster) != svg(name, made)


def test_bars_are_sorted_and_written(made: Sources) -> None:
    said = texts("answer", made)
    labels = [entry("asgi", "http").label, SIMPLE.label, entry("axum", "http").label]
    assert sorted(labels, key=said.index) == labels
    assert whole(made.local.cell(SIMPLE, RequestSpec()).requests_per_second.median) in said
