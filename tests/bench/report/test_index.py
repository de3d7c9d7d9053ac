"""docs/benchmarks/index.html in a browser: its figures are the results', light and dark, also on a phone."""

import json
import shutil
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench.report.files import sources
from bench.report.headline import answer
from bench.report.pages import PAGES, ROOT
from bench.report.web import script
from tests.bench.report.browser import Page, opened
from tests.bench.report.conftest import LOCAL, SPLIT

SHOWN = """[...document.querySelectorAll("#panels li")].map((row) => ({
  cell: row.dataset.cell, figure: row.dataset.figure, value: row.dataset.value,
  text: row.querySelector("summary").innerText, command: row.querySelector("code").textContent }))"""
FIGURES = {
    "answered": lambda run: run["requests_per_second"],
    "mean": lambda run: run["latency_ms"]["mean"],
    "p50": lambda run: run["latency_ms"]["p50"],
    "us": lambda run: run["server"]["cpu_seconds"] * 1e6 / run["requests"],
    "mb": lambda run: run["server"]["pss_bytes"] / 1e6,
}
# How readable the text is on its ground: W3C's contrast, at least 4.5 for text.
CONTRAST = """(() => {
  const light = (colour) => colour.match(/[0-9.]+/g).slice(0, 3).map((part) => part / 255)
    .map((part) => part <= .04045 ? part / 12.92 : ((part + .055) / 1.055) ** 2.4)
    .reduce((sum, part, place) => sum + part * [.2126, .7152, .0722][place], 0);
  const ground = light(getComputedStyle(document.body).backgroundColor);
  const names = ["body", "h1", "h3", "a", "button", ".axis", ".name", ".figure", ".figure small"];
  return Math.min(...names.map((name) => {
    const ink = light(getComputedStyle(document.querySelector(name)).color);
    const [low, high] = [ink, ground].sort((a, b) => a - b);
    return (high + .05) / (low + .05); }));
})()"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """A browser."""
    with opened(tmp_path_factory.mktemp("chromium")) as found:
        yield found


def cells(*paths: Path) -> dict[str, dict[str, Any]]:
    """The cells of results by name, with the runs of all, read without the report's code."""
    found: dict[str, dict[str, Any]] = {}
    for cell in (cell for path in paths for cell in json.loads(path.read_text())["cells"]):
        found.setdefault(cell["name"], cell | {"runs": []})["runs"].extend(cell["runs"])
    return found


def check(shown: list[dict[str, Any]], measured: dict[str, dict[str, Any]]) -> set[str]:
    """Compares every shown figure, and returns the panels with any."""
    for one in shown:
        runs = measured[one["cell"]]["runs"]
        kept_up = [run["open_loop"] is None or run["open_loop"]["kept_up"] for run in runs]
        held = 2 * sum(kept_up) > len(kept_up)
        assert bool(one.get("value")) == bool(runs and held), one
        assert one["command"].endswith(f" --only {one['cell']}")
        if one.get("value"):
            values = [FIGURES[one["figure"]](run) for run in runs]
            expected = statistics.median(values), min(values), max(values)
            assert [*map(float, one["value"].split())] == pytest.approx([*expected], rel=1e-6)
    return {one["figure"] for one in shown if one.get("value")}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_committed_figures_are_those_of_the_results(page: Page, scheme: str, width: int) -> None:
    found = sources(ROOT / "bench" / "results")
    page.show((ROOT / PAGES / "index.html").as_uri(), scheme, width)
    measured = cells(*(found.directory / name / "results.json" for name in found.local.names))
    for click in (False, True):
        if click:
            page.ask("document.getElementById('all').click()")
        shown = page.ask(SHOWN)
        assert check(shown, measured) == {"answered", "mean", "us", "mb"}
        answered = [one for one in shown if one["figure"] == "answered" and one.get("value")]
        assert len(answered) >= 6
        assert f"{float(answered[0]['value'].split()[0]):,.0f}" in answered[0]["text"]
    # Sorted within each group.
    groups = page.ask(
        "[...document.querySelectorAll('#answered ol')].map((list) => [...list.children]"
        ".filter((row) => row.dataset.value).map((row) => +row.dataset.value.split(' ')[0]))"
    )
    assert len(groups) >= 3 and all(rates == sorted(rates, reverse=True) for rates in groups)
    assert page.ask("document.getElementById('should').textContent") == answer(found.local)
    assert page.ask("document.querySelector('nav a').getAttribute('href')") == "../../README.md"
    colours = page.ask(
        "[...new Set([...document.querySelectorAll('.bar')].map((one) => one.style.background))].length"
    )
    assert colours >= 3
    assert page.ask("document.documentElement.scrollWidth") <= width
    assert page.ask(CONTRAST) >= 4.5
    assert (
        page.ask("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    ) == (scheme == "light")


def test_the_selection_is_shown(page: Page, directory: Path, tmp_path: Path) -> None:
    path = directory / LOCAL / "results.json"
    document = json.loads(path.read_text())
    # Unknown systems and requests appear too.
    for cell in document["cells"]:
        new = {"asgi_memory": "rocket", "columns": "three_models"}
        for name in ("system", "request", "name"):
            for old, word in new.items():
                cell[name] = cell[name].replace(old, word)
    path.write_text(json.dumps(document))
    other = directory / SPLIT / "results.json"
    document = json.loads(other.read_text())
    document["workload"]["rows"] = 2_000_000
    other.write_text(json.dumps(document))
    (tmp_path / "results.js").write_text(script(sources(directory)))
    shutil.copy(ROOT / PAGES / "index.html", tmp_path)
    address = (tmp_path / "index.html").as_uri()

    def chosen(hash_: str) -> list[dict[str, Any]]:
        page.show(f"{address}#{hash_}", "light", 1000)
        page.ask("document.getElementById('all').click()")
        return page.ask(SHOWN)

    shown = chosen("request=hot&clients=5&trees=100")
    assert "rocket (http)" in {one["text"].splitlines()[0].strip(" ▸") for one in shown}
    assert check(shown, cells(path)) and {one["cell"].split("/")[3] for one in shown} == {"100t"}
    assert check(chosen("request=three_models"), cells(path))
    assert "three_models" in page.ask("document.querySelector('[name=request]').innerText")
    shown = chosen("request=hot&rate=4000")
    assert "p50" in check(shown, cells(path))
    assert any("not sustained: " in one["text"] for one in shown)
    split = chosen(f"run={SPLIT}&request=hot&delay=0.25")
    assert check(split, cells(directory / SPLIT / "results.json"))
    asked = "--workload split --rows 2000000 --only"
    assert all(one["cell"].endswith("/0.25ms") and asked in one["command"] for one in split)
    assert "2,000,000 rows" in page.ask("document.querySelector('[name=run]').innerText")
    # A choice that was not measured with the others is replaced.
    assert check(chosen("request=batch&clients=20"), cells(path))
    page.ask("(() => { const one = document.querySelector('[name=clients]'); one.value = '5';"
             " one.dispatchEvent(new Event('change')); })()")  # fmt: skip
    assert {one["cell"].split("/")[4] for one in page.ask(SHOWN)} == {"5c"}
