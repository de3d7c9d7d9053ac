"""docs/benchmarks/index.html in a browser: its figures are the results', light and dark, also on a phone."""

import html
import json
import re
import shutil
import statistics
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from bench.report.files import sources
from bench.report.headline import answer
from bench.report.pages import PAGES, ROOT
from bench.report.web import script
from tests.bench.report.conftest import LOCAL, SPLIT

FIGURES = {
    "answered": lambda run: run["requests_per_second"],
    "mean": lambda run: run["latency_ms"]["mean"],
    "p50": lambda run: run["latency_ms"]["p50"],
    "us": lambda run: run["server"]["cpu_seconds"] * 1e6 / run["requests"],
    "mb": lambda run: run["server"]["pss_bytes"] / 1e6,
}
# The page is shown in frames, and a function tells of each of them.
FRAMES = """<!doctype html>{frames}<pre></pre><script>
addEventListener("load", () => {{
  const told = [...document.querySelectorAll("iframe")].map((frame) => {{
    const {{document, getComputedStyle}} = frame.contentWindow;
    const all = (what) => [...document.querySelectorAll(what)];
    const shown = () => all("#panels li").map((row) => ({{
      cell: row.dataset.cell, figure: row.dataset.figure, value: row.dataset.value,
      text: row.querySelector("summary").innerText, command: row.querySelector("code").textContent }}));
    {tell}
  }});
  document.querySelector("pre").textContent = JSON.stringify(told);
}});
</script>"""
# How readable the text is on its ground: W3C's contrast, at least 4.5 for text.
COMMITTED = """
const first = shown();
document.getElementById("all").click();
const light = (colour) => colour.match(/[0-9.]+/g).slice(0, 3).map((part) => part / 255)
  .map((part) => part <= .04045 ? part / 12.92 : ((part + .055) / 1.055) ** 2.4)
  .reduce((sum, part, place) => sum + part * [.2126, .7152, .0722][place], 0);
const back = getComputedStyle(document.body).backgroundColor;
const names = ["body", "h1", "h3", "a", "button", ".axis", ".name", ".figure", ".figure small"];
return {
  shown: [first, shown()], back, width: document.documentElement.scrollWidth,
  contrast: Math.min(...names.map((name) => {
    const ink = light(getComputedStyle(document.querySelector(name)).color);
    const [low, high] = [ink, light(back)].sort((a, b) => a - b);
    return (high + .05) / (low + .05); })),
  groups: all("#answered ol").map((list) => [...list.children].filter((row) => row.dataset.value)
    .map((row) => +row.dataset.value.split(" ")[0])),
  sentence: document.getElementById("should").textContent,
  home: document.querySelector("nav a").getAttribute("href"),
  colours: new Set(all(".bar").map((one) => one.style.background)).size,
};"""
CHOSEN = """
document.getElementById("all").click();
const found = shown();
const clients = document.querySelector("[name=clients]");
if ([...clients.options].some((one) => one.value === "5")) clients.value = "5";
clients.dispatchEvent(new (frame.contentWindow.Event)("change"));
const named = (name) => document.querySelector(`[name=${name}]`).innerText;
return {shown: found, request: named("request"), run: named("run"), five: shown()};"""


def told(
    directory: Path, addresses: Sequence[tuple[str, int]], tell: str, dark: bool = False
) -> list[Any]:
    """Returns what Chromium tells of the pages at these addresses, each in a frame of that width."""
    frame = '<iframe src="{}" style="width: {}px; height: 900px; border: 0"></iframe>'
    page = directory / "frames.html"
    frames = "".join(frame.format(*one) for one in addresses)
    page.write_text(FRAMES.format(frames=frames, tell=tell))
    command = [
        "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files",
        f"--blink-settings=preferredColorScheme={0 if dark else 1}", "--dump-dom",
        f"--user-data-dir={directory}/profile", page.as_uri(),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    return json.loads(html.unescape(re.search(r"<pre>(.*)</pre>", done.stdout, re.DOTALL)[1]))


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


@pytest.mark.parametrize("dark", [False, True])
def test_committed_figures_are_those_of_the_results(tmp_path: Path, dark: bool) -> None:
    found = sources(ROOT / "bench" / "results")
    measured = cells(*(found.directory / name / "results.json" for name in found.local.names))
    address, widths = (ROOT / PAGES / "index.html").as_uri(), (1280, 390)
    for width, page in zip(
        widths, told(tmp_path, [(address, one) for one in widths], COMMITTED, dark), strict=True
    ):
        for shown in page["shown"]:
            assert check(shown, measured) == {"answered", "mean", "us", "mb"}
            answered = [one for one in shown if one["figure"] == "answered" and one.get("value")]
            assert len(answered) >= 6
            assert f"{float(answered[0]['value'].split()[0]):,.0f}" in answered[0]["text"]
        # Sorted within each group.
        groups = page["groups"]
        assert len(groups) >= 3 and all(one == sorted(one, reverse=True) for one in groups)
        assert (page["sentence"], page["home"]) == (answer(found.local), "../../README.md")
        assert page["colours"] >= 3 and page["width"] <= width and page["contrast"] >= 4.5
        assert (page["back"] == "rgb(255, 255, 255)") != dark


def test_the_selection_is_shown(directory: Path, tmp_path: Path) -> None:
    path, other = (directory / name / "results.json" for name in (LOCAL, SPLIT))
    # Unknown systems and requests appear too.
    text = path.read_text().replace("asgi_memory", "rocket").replace("/columns/", "/three_models/")
    path.write_text(text.replace('"request": "columns"', '"request": "three_models"'))
    document = json.loads(other.read_text())
    document["workload"]["rows"] = 2_000_000
    other.write_text(json.dumps(document))
    (tmp_path / "results.js").write_text(script(sources(directory)))
    shutil.copy(ROOT / PAGES / "index.html", tmp_path)
    choices = (
        "request=hot&clients=5&trees=100", "request=three_models", "request=hot&rate=4000",
        f"run={SPLIT}&request=random&delay=0.25", "request=batch&clients=20",
    )  # fmt: skip
    address = (tmp_path / "index.html").as_uri()
    frames = [(f"{address}#{html.escape(one)}", 1000) for one in choices]
    more_trees, unknown, at_a_rate, split, replaced = told(tmp_path, frames, CHOSEN)

    assert "rocket (http)" in {
        one["text"].splitlines()[0].strip(" ▸") for one in more_trees["shown"]
    }
    assert check(more_trees["shown"], cells(path))
    assert {one["cell"].split("/")[3] for one in more_trees["shown"]} == {"100t"}
    assert check(unknown["shown"], cells(path)) and "three_models" in unknown["request"]
    assert "p50" in check(at_a_rate["shown"], cells(path))
    assert any("not sustained: " in one["text"] for one in at_a_rate["shown"])
    assert check(split["shown"], cells(other)) and "2,000,000 rows" in split["run"]
    asked = "--workload split --rows 2000000 --only"
    for one in split["shown"]:
        assert one["cell"].endswith("/0.25ms") and asked in one["command"]
    # A choice that was not measured with the others is replaced.
    assert check(replaced["shown"], cells(path))
    assert {one["cell"].split("/")[4] for one in replaced["five"]} == {"5c"}
