"""The pages have the results' figures, are the same each time, and say what is missing."""

import itertools
import json
import re
import statistics
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench import results
from bench.report import pages
from bench.report.files import Sources, sources
from bench.report.headline import DASH, digits, written
from bench.report.measured import Measured, MissingFigure
from bench.report.pages import BadTemplate, of_comparison
from bench.report.pages import made as files_of
from bench.report.pictures import clients
from tests.bench.report.conftest import LOCAL, SPLIT, scaled
from tests.bench.report.made_up import FACTS

INDEX = pages.PAGES / "README.md"
OWN = "postgres_direct/simple/hot/25t/20c"


def changed(directory: Path, name: str, keep: Callable[[dict[str, Any]], bool]) -> None:
    """Leaves of a result's cells those that are to be kept."""
    path = directory / name / "results.json"
    document = json.loads(path.read_text())
    document["cells"] = [cell for cell in document["cells"] if keep(cell)]
    path.write_text(json.dumps(document))
    results.parse(path.read_text())


def test_the_first_figures_are_those_of_the_file(original: Path, files: dict[Path, str]) -> None:
    """README.md, the results page and index.html have the same ratios, of drawn keys, with their range."""
    document = json.loads((original / LOCAL / "results.json").read_text())

    def rates(name: str) -> list[float]:
        (cell,) = [cell for cell in document["cells"] if cell["name"] == name]
        return [run["requests_per_second"] for run in cell["runs"]]

    for protocol, service in itertools.product(
        ("simple", "prepared"), ("asgi", "axum", "axum_redis")
    ):
        own = rates(f"postgres_direct/{protocol}/random/25t/20c")
        them = rates(f"{service}/http/random/25t/20c")
        ratios = [a / b for a, b in zip(own, them, strict=True)]
        said = [digits(one) for one in (statistics.median(ratios), min(ratios), max(ratios))]
        for path in (INDEX, Path("README.md"), pages.PAGES / "results.js"):
            assert f"{said[0]} ({said[1]}{DASH}{said[2]})" in files[path], path
    (answer,) = re.findall(r"^\*\*(With .*)\*\*$", files[INDEX], re.MULTILINE)
    assert answer in files[Path("README.md")] and answer in files[pages.PAGES / "results.js"]


@pytest.mark.parametrize(
    ("spread", "text"),
    [
        ((2.0, 1.8, 2.2, 4), "2.0 (1.8 to 2.2)"),
        ((0.97, 0.65, 1.14, 4), "0.97 (0.65 to 1.1), tie"),
        ((18.0, 17.0, 19.0, 8), "18 (17 to 19)"),
        # Too few runs for a verdict.
        ((0.97, 0.65, 1.14, 2), "0.97 (0.65 to 1.1)"),
        ((1.0, 1.0, 1.0, 1), "1.00"),
    ],
)
def test_a_ratio_has_its_range_and_a_tie_enough_runs(spread: tuple, text: str) -> None:
    assert written(results.Spread(*spread)) == text.replace(" to ", DASH)


def test_another_day_is_told_by_its_speed_and_its_round_trip(made: Sources) -> None:
    """A machine of one name is not as fast every day, whatever its kernel is called."""
    trips = [replace(one, p50_us=one.p50_us * 2) for one in made.local.result.topology.round_trips]
    topology = replace(made.local.result.topology, round_trips=trips)
    faster = scaled(made.local, "postgres_direct", 3)
    then = replace(faster.result, topology=topology, started="2025-12-02T10:00:00+00:00")
    earlier = [Measured(one, "then") for one in (then, faster.result)]
    (day,) = of_comparison(replace(made, earlier=earlier))["before"]
    assert (day["times"], day["us"]) == (pytest.approx(3), 2 * day["now"])


def test_pictures_are_those_that_pages_show(files: dict[Path, str], made: Sources) -> None:
    """They have text that can be selected, the same bytes each time, and follow their figures."""
    pages_ = [text for path, text in files.items() if path.suffix == ".md"]
    shown = {name for text in pages_ for name in re.findall(r"!\[[^]]+\]\(([a-z-]+\.svg)\)", text)}
    assert shown == {path.name for path in files if path.suffix == ".svg"} == {"clients.svg"}
    drawn = files[pages.PAGES / "clients.svg"]
    texts = [text.strip() for text in re.findall(r"<text[^>]*>([^<]*)</text>", drawn)]
    assert {"PostgreSQL, prepared", "best Python service, Redis"} <= {*texts}
    assert clients(made.local) == drawn != clients(scaled(made.local, "postgres_direct", 3))


# Words that only the harness uses.
HOUSE_WORDS = re.compile(r"\b(cells?|entry|entries|turns?|of the servers)\b|†")


def test_the_results_are_read_in_two_minutes() -> None:
    for name in (INDEX, Path("README.md")):
        text = (pages.ROOT / name).read_text()
        if name != INDEX:
            text = pages.PART.search(text)[0]
        # Without the mark in the first line, and the targets of links.
        text = re.sub(r"\]\([^)]*\)", "]", text.split("\n", 1)[1])
        assert len(re.findall(r"\S*\w\S*", text)) <= 900
        assert not HOUSE_WORDS.search(text), HOUSE_WORDS.search(text)


def test_the_newest_full_run_is_taken(directory: Path) -> None:
    document = json.loads((directory / LOCAL / "results.json").read_text())
    quick = {"workload": document["workload"] | {"name": "quick"}}
    others = {"later": {}, "quick": quick, "of-a-few-cells": {"cells": document["cells"][:3]}}
    for day, (name, changes) in enumerate(others.items(), 3):
        started = {"started": f"2026-01-0{day}T00:00:00+00:00"}
        (directory / name).mkdir()
        (directory / name / "results.json").write_text(json.dumps(document | started | changes))
    found = sources(directory)
    assert (found.local.name, found.split.name) == ("later", SPLIT)


def test_a_damaged_or_incomplete_result_is_an_error(directory: Path) -> None:
    changed(directory, LOCAL, lambda cell: cell["system"] != "asgi")
    with pytest.raises(MissingFigure, match="best Python service, Redis"):
        sources(directory)
    path = directory / LOCAL / "results.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"cells": None}))
    with pytest.raises(results.BadResult, match=LOCAL):
        sources(directory)
    path.unlink()
    with pytest.raises(MissingFigure, match="there is no full run"):
        sources(directory)


def test_missing_measurements_are_left_out(directory: Path, root: Path) -> None:
    main = ("postgres_direct", "asgi", "python_published_one_thread")

    def keep(cell: dict[str, Any]) -> bool:
        few = cell["system"] in main and cell["trees"] == 25 and cell["rate"] is None
        return few and cell["request"] in ("random", "fetch") and cell["clients"] in (1, 20)

    changed(directory, LOCAL, keep)
    (directory / SPLIT / "results.json").unlink()
    files = files_of(sources(directory), root)
    page = files[INDEX] + files[pages.PAGES / "claims.md"]
    for heading in ("The tail", "Over a network"):
        assert f"## {heading}" not in page
    assert "not run" in page
    assert not [path for path in files if path.suffix == ".svg"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{{ nothing }}", "'nothing' is undefined"),
        ("{{ local", "end of"),
        ("{% if split %}x", "end of"),
        ("{{ local.nothing }}", "nothing"),
    ],
)  # fmt: skip
def test_a_template_that_cannot_be_filled_is_an_error(
    made: Sources, tmp_path: Path, text: str, message: str
) -> None:
    (tmp_path / "page.md.j2").write_text(text)
    with pytest.raises(BadTemplate, match=message):
        files_of(made, tmp_path, tmp_path)


def test_a_page_without_its_marks_is_an_error(made: Sources, root: Path, small: Path) -> None:
    (root / "README.md").write_text("# Page\n")
    with pytest.raises(BadTemplate, match="needs one line"):
        files_of(made, root, small)


def test_runs_of_one_commit_on_one_machine_are_pooled(directory: Path) -> None:
    document = json.loads((directory / LOCAL / "results.json").read_text())
    larger = document["topology"] | {"hosts": {"local": document["machine"] | {"cores": "64"}}}
    for place, changes in (
        ("same/2026-01-02T100000", {"started": "2026-01-02T10:00:00+00:00"}),
        ("same/2025-12-02T100000", {"started": "2025-12-02T10:00:00+00:00", "commit": "f" * 40}),
        ("other/2025-12-03T100000", {
            "started": "2025-12-03T10:00:00+00:00", "topology": larger
        }),
    ):  # fmt: skip
        (directory / place).mkdir(parents=True)
        (directory / place / "results.json").write_text(json.dumps(document | changes))
    found = sources(directory)
    # Those of one commit are one result, of all others none.
    assert found.local.names == ("same/2026-01-02T100000", LOCAL)
    cell = found.local.named(OWN)
    assert len(cell.runs) == 2 * len(found.all[0].named(OWN).runs)


def test_a_measurement_of_another_machine_is_not_this_ones(directory: Path) -> None:
    for day, machine in enumerate((FACTS, FACTS | {"cores": "64"}), 2):
        path = directory / f"2026-01-0{day}-inside" / "inside.json"
        path.parent.mkdir()
        path.write_text(json.dumps({"machine": machine}))
    found = sources(directory)
    assert found.other("inside").parent.name == "2026-01-02-inside"
    assert found.other("fresh") is None
