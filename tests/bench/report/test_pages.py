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
from bench.report.context import of_comparison
from bench.report.files import Sources, sources
from bench.report.headline import DASH, digits, written
from bench.report.measured import Measured, MissingFigure
from bench.report.pages import BadTemplate, stale, write
from bench.report.pages import made as files_of
from bench.report.pictures import clients
from tests.bench.report.conftest import LOCAL, SPLIT, scaled

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
    for name, day, kind in (("later", 3, "full"), ("latest-quick", 4, "quick")):
        workload = document["workload"] | {"name": kind}
        changes = {"started": f"2026-01-0{day}T00:00:00+00:00", "workload": workload}
        (directory / name).mkdir()
        (directory / name / "results.json").write_text(json.dumps(document | changes))
    found = sources(directory)
    assert found.local.name == "later"
    assert found.split.name == SPLIT
    assert sources(directory, "latest-quick").local.name == "latest-quick"


def test_what_is_no_comparison_is_passed_over(directory: Path) -> None:
    document = json.loads((directory / LOCAL / "results.json").read_text())
    some = document | {"started": "2026-01-05T00:00:00+00:00", "cells": document["cells"][:3]}
    for name, result in (("of-a-few-cells", some), ("of-an-older-schema", {"schema": 1})):
        (directory / name).mkdir()
        (directory / name / "results.json").write_text(json.dumps(result))
    assert sources(directory).local.name == LOCAL


def test_a_damaged_or_incomplete_result_is_an_error(directory: Path) -> None:
    changed(directory, LOCAL, lambda cell: cell["system"] != "asgi")
    with pytest.raises(MissingFigure, match="best Python service, Redis"):
        sources(directory)
    path = directory / LOCAL / "results.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"cells": None}))
    with pytest.raises(results.BadResult, match=LOCAL):
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
    assert "libxgboost in PostgreSQL" not in page
    assert "not run" in page
    assert not [path for path in files if path.suffix == ".svg"]


def test_without_any_run_there_are_no_pages(root: Path, tmp_path: Path) -> None:
    (tmp_path / "nothing").mkdir()
    files = files_of(sources(tmp_path / "nothing"), root)
    assert {str(path) for path in files} == {*pages.PARTS}
    assert stale(files, root) == []


def test_files_of_an_earlier_report_are_deleted(files: dict[Path, str], root: Path) -> None:
    write(files, root)
    (root / pages.PAGES / "by-hand.md").write_text("# By hand\n")
    empty = files_of(None, root)
    assert f"{INDEX} is left over" in stale(empty, root)
    write(empty, root)
    with_parts = {Path(page).name for page in pages.PARTS if Path(page).parent == pages.PAGES}
    assert {path.name for path in (root / pages.PAGES).iterdir()} == {"by-hand.md", *with_parts}
    assert "requests per second" not in (root / "README.md").read_text()


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


def test_a_new_system_appears(directory: Path, root: Path) -> None:
    path = directory / LOCAL / "results.json"
    text = path.read_text().replace("asgi_memory", "rocket").replace("/columns/", "/three_models/")
    path.write_text(text.replace('"request": "columns"', '"request": "three_models"'))
    files = files_of(sources(directory), root)
    script = files[pages.PAGES / "results.js"]
    assert '"rocket/http"' in script and "/three_models/" in script


def test_a_measurement_of_another_machine_is_not_this_ones(directory: Path) -> None:
    machines = ({}, {"machine": {"cores": "64"}}, {"topology": "split"})
    for day, machine in enumerate(machines, 2):
        path = directory / f"2026-01-0{day}-inside" / "inside.json"
        path.parent.mkdir()
        path.write_text(json.dumps(machine))
    found = sources(directory)
    assert found.other("inside").parent.name == "2026-01-02-inside"
    assert found.other("fresh") is None
