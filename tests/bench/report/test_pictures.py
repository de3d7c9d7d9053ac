"""Pictures have text that can be selected, the same bytes each time, and show what the results hold."""

import re
from dataclasses import replace

import pytest

from bench.report.files import Sources
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
