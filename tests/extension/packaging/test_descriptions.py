"""Descriptions of the extensions outside of the pages: control files, META.json, READMEs of the crates."""

import json
import re
from pathlib import Path

import pytest

EXTENSION = Path(__file__).resolve().parents[3] / "extension"
READMES = sorted(EXTENSION.glob("*/README.md"))


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
    described = json.loads((EXTENSION.parent / "META.json").read_text())
    for text in (*described["maintainer"], described["generated_by"]):
        assert re.search(r"@|\.example|noreply", text) is None
