"""A directory of made-up results, and a repository of two pages with a marked part each."""

import shutil
from pathlib import Path

import pytest

from bench import results
from bench.report.files import Sources, sources
from bench.report.pages import PARTS, begin
from tests.report import made_up

LOCAL, SPLIT = "2026-01-01-made-up", "2026-01-01-made-up-split"
PAGE = "# Page\n\n## Comparison\n\nBy hand.\n\n{begin}<!-- end: generated -->\n\n## More\n\nText.\n"


@pytest.fixture(scope="session")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of one machine and of three hosts. Not to be changed."""
    directory = tmp_path_factory.mktemp("results")
    for name, result in ((LOCAL, made_up.local()), (SPLIT, made_up.split())):
        (directory / name).mkdir()
        results.write(directory / name / "results.json", result)
    return directory


@pytest.fixture
def directory(original: Path, tmp_path: Path) -> Path:
    """A copy of them for one test to change."""
    return Path(shutil.copytree(original, tmp_path / "results"))


@pytest.fixture(scope="session")
def made(original: Path) -> Sources:
    """What the report is made from."""
    return sources(original)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with the pages that have marked parts."""
    for name, template in PARTS.items():
        path = tmp_path / "repository" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(PAGE.format(begin=begin(template, None)))
    return tmp_path / "repository"
