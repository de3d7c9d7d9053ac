"""Every picture is a whole SVG of outlines, the same each time, and shows what the file holds."""

import re
from xml.etree import ElementTree

import pytest

from bench.report.files import Sources
from bench.report.pictures import PICTURES, svg
from bench.report.pictures.drawing import apart

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module", params=PICTURES)
def picture(request: pytest.FixtureRequest, made: Sources) -> tuple[str, str]:
    """A picture's name and file."""
    return request.param, svg(request.param, made)


def test_it_is_the_same_each_time(picture: tuple[str, str], made: Sources) -> None:
    name, text = picture
    assert svg(name, made) == text
    assert not re.search(r"\d{4}-\d\d-\d\dT|[ \t]$", text, re.MULTILINE)


def test_it_needs_no_font_and_has_a_background(picture: tuple[str, str]) -> None:
    tree = ElementTree.fromstring(picture[1])
    assert not [*tree.iter(f"{SVG}text")]
    first = next(path for path in tree.iter(f"{SVG}path") if "fill" in path.get("style", ""))
    assert "fill: #ffffff" in first.get("style")


def test_every_reference_leads_somewhere(picture: tuple[str, str]) -> None:
    tree = ElementTree.fromstring(picture[1])
    ids = [element.get("id") for element in tree.iter() if element.get("id")]
    assert len(ids) == len({*ids})
    references = re.findall(r'href="#([^"]+)"|url\(#([^)]+)\)', picture[1])
    assert references
    assert {a or b for a, b in references} <= {*ids}


def test_coordinates_have_no_more_digits_than_can_be_seen(picture: tuple[str, str]) -> None:
    assert not re.search(r"[ML] -?[1-9]\d*\.\d{4,}", picture[1])


@pytest.mark.parametrize(
    ("places", "moved"),
    [
        ([0.0, 100.0], [0.0, 100.0]),
        ([50.0, 52.0], [46.0, 56.0]),
        ([0.0, 1.0, 2.0], [-9.0, 1.0, 11.0]),
        ([0.0, 9.0, 30.0], [-0.5, 9.5, 30.0]),
        ([], []),
    ],
)
def test_names_are_pushed_apart_around_their_middle(
    places: list[float], moved: list[float]
) -> None:
    assert apart(places, 10.0) == pytest.approx(moved)
