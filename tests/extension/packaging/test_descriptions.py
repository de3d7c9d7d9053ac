"""Descriptions of the extensions outside of the pages: control files, META.json, READMEs of the crates; and
the workflows, whose actions are pinned by their commits."""

import json
import re
from pathlib import Path

import pytest
import yaml

from tests.extension.packaging.conftest import EXTENSION, NAMES, PRESENT, ROOT, script

READMES = sorted(EXTENSION.glob("*/README.md"))
WORKFLOWS = ROOT / ".github" / "workflows"
USES = re.compile(r"uses: *(.*)")
PINNED = re.compile(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")


@pytest.mark.parametrize("readme", READMES, ids=lambda path: path.parent.name)
def test_paths_in_readmes_exist(readme: Path) -> None:
    rows = re.findall(r"^\| (`[^|]*`) \|", readme.read_text(), re.MULTILINE)
    names = [name for row in rows for name in re.findall(r"`([\w./*]+)`", row)]
    # In the engine's README a table has items of code.
    names = [name for name in names if "." in name or "/" in name]
    roots = [readme.parent, readme.parent / "src"]
    assert [name for name in names if not any(any(root.glob(name)) for root in roots)] == []


def test_the_scoring_extension_is_described_by_all_libraries() -> None:
    control = (EXTENSION / "pgboost/pgboost.control").read_text()
    comment = re.search(r"^comment = '(.*)'", control, re.MULTILINE)[1]
    for library in ("XGBoost", "LightGBM", "CatBoost", "scikit-learn"):
        assert library in comment


def test_the_maintainer_of_the_distribution_is_no_placeholder() -> None:
    described = json.loads((ROOT / "META.json").read_text())
    for text in (*described["maintainer"], described["generated_by"]):
        assert re.search(r"@|\.example|noreply", text) is None


@pytest.mark.parametrize(
    ("file", "pattern"),
    [
        ("META.json", r'^  "version": "(.*)"'),
        ("packaging/deb/debian/changelog", r"^pgboost \((.*)-\d+\)"),
        *((f"extension/{name}/{name}.control", "^default_version = '(.*)'") for name in NAMES),
    ],
)
def test_packages_are_of_the_present_version(file: str, pattern: str) -> None:
    assert re.search(pattern, (ROOT / file).read_text(), re.MULTILINE)[1] == PRESENT


def test_the_present_scripts_are_declared_to_pgxn() -> None:
    provided = json.loads((ROOT / "META.json").read_text())["provides"]
    assert set(provided) == {path.stem for path in EXTENSION.glob("*/*.control")}
    for name, what in provided.items():
        assert ROOT / what["file"] == script(name)
        assert (ROOT / what["docfile"]).exists()
        assert what["version"] == PRESENT


def test_actions_are_pinned_by_commit() -> None:
    actions = [a for path in WORKFLOWS.glob("*.yml") for a in USES.findall(path.read_text())]
    assert actions
    assert [action for action in actions if not PINNED.fullmatch(action)] == []


@pytest.mark.parametrize("path", sorted(WORKFLOWS.glob("*.yml")), ids=lambda path: path.stem)
def test_every_job_has_steps_and_existing_needs(path: Path) -> None:
    jobs = yaml.safe_load(path.read_text())["jobs"]
    for job in jobs.values():
        assert job["steps"] and {*job.get("needs", ())} <= {*jobs}


def test_a_release_has_packages_images_and_wheels() -> None:
    jobs = yaml.safe_load((WORKFLOWS / "package.yml").read_text())["jobs"]
    ran = {name: [step.get("run", "") for step in job["steps"]] for name, job in jobs.items()}
    assert (
        {*jobs["release"]["needs"]} == {*jobs} - {"release"} == {"deb", "image", "wheel", "engine"}
    )
    assert any("tools/toolchain/wheel.sh test" in step for step in ran["engine"])
    assert "make deb" in ran["deb"] and "pip wheel" in ran["wheel"][1]
    assert ran["image"][1].startswith("packaging/image/build.sh")
