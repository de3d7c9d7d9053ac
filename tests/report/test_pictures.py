"""Pictures have text that can be selected, follow the scheme, and show what the results hold."""

from xml.etree import ElementTree

import pytest

from bench.report.files import Sources
from bench.report.measured import SIMPLE, TUNED, Asked
from bench.report.pictures import PICTURES, svg
from bench.report.pictures.drawing import WIDTH, apart

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_text_on_a_ground_that_follows_the_scheme(name: str, made: Sources) -> None:
    drawn = svg(name, made)
    tree = ElementTree.fromstring(drawn)
    assert [*tree.iter(f"{SVG}text")] and "prefers-color-scheme: dark" in drawn
    assert tree[1].get("class") == "ground"
    assert svg(name, made) == drawn
    for one in tree.iter():
        places = [float(one.get(key)) for key in ("x", "x1", "x2", "cx") if one.get(key)]
        assert all(0 <= place <= WIDTH for place in places)


def texts(name: str, made: Sources) -> list[str]:
    """What a picture says."""
    return [one.text for one in ElementTree.fromstring(svg(name, made)).iter(f"{SVG}text")]


def test_bars_are_sorted_within_their_sides_and_written(made: Sources) -> None:
    said = texts("answer", made)
    own, other = said.index("in PostgreSQL"), said.index("services")
    assert own < said.index(SIMPLE.label) < other < said.index(TUNED.label)
    numbers = [float(text.split()[0].replace(",", "")) for text in said if text[0].isdigit()]
    split = sum(place < other for place, text in enumerate(said) if text[0].isdigit())
    for side in (numbers[:split], numbers[split:]):
        assert side == sorted(side, reverse=True)
    median = made.local.cell(SIMPLE, Asked()).requests_per_second.median
    assert any(text.startswith(f"{median:,.0f} (") for text in said)


def test_a_rate_that_was_not_held_is_said_and_not_drawn(made: Sources) -> None:
    said = " ".join(texts("tail", made))
    assert "service (published, one thread) does not hold 4,000" in said


@pytest.mark.parametrize(
    ("places", "moved"),
    [
        ([0.0, 100.0], [0.0, 100.0]),
        ([50.0, 52.0], [46.0, 56.0]),
        ([0.0, 1.0, 2.0], [-9.0, 1.0, 11.0]),
        ([], []),
    ],
)
def test_names_are_pushed_apart_around_their_middle(
    places: list[float], moved: list[float]
) -> None:
    assert apart(places, 10.0) == pytest.approx(moved)
