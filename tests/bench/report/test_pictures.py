"""Pictures have text that can be selected, the same bytes each time, and show what the results hold."""

import re
from dataclasses import replace

import pytest

from bench.report.files import Sources
from bench.report.measured import Measured
from bench.report.pictures import PICTURES, svg
from tests.bench.report.conftest import scaled


def texts(name: str, made: Sources) -> list[str]:
    """Returns a picture's texts."""
    return [text.strip() for text in re.findall(r"<text[^>]*>([^<]*)</text>", svg(name, made))]


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_has_text_and_follows_its_figures(name: str, made: Sources) -> None:
    said = texts(name, made)
    assert "PostgreSQL, prepared" in said and "best Python service, Redis" in said
    assert svg(name, made) == svg(name, made)
    faster = replace(made, local=scaled(made.local, "postgres_direct", 3))
    assert svg(name, faster) != svg(name, made)


def test_the_curve_is_of_drawn_keys_where_they_were_measured(made: Sources) -> None:
    """With one or two numbers of clients the curve is of one key, and says so."""
    assert any("one key" in text for text in texts("clients", made))
    cells = [
        replace(cell, name=cell.name.replace("hot", "random"), request="random")
        for cell in made.local.result.cells
        if cell.request == "hot" and cell.rate is None
    ]
    drawn = replace(made, local=Measured(replace(made.local.result, cells=cells), "drawn"))
    assert not any("one key" in text for text in texts("clients", drawn))
