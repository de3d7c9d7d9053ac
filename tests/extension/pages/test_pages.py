"""Every block of the users' pages runs, in its order, and prints what the page shows under it."""

import re
from pathlib import Path

import pytest

from tests.extension.pages import databases, recording
from tests.extension.pages.blocks import DOCS, FENCED, ROOT, page
from tests.extension.pages.running import compared, printed, same
from tools.cluster import Cluster

DATABASE = "page"
PAGES = sorted(
    f"docs/{path.name}" for path in DOCS.glob("*.md") if page(f"docs/{path.name}").blocks
)
# Other tests run these.
APART = ("docs/recipes.md", "docs/clients.md", "docs/search.md")


@pytest.mark.usefixtures("tables")
@pytest.mark.parametrize("path", [path for path in PAGES if path not in APART] + ["README.md"])
def test_every_block_prints_the_output_of_the_page(
    path: str, cluster: Cluster, tmp_path: Path
) -> None:
    databases.copy(cluster, DATABASE, path)
    for block in page(path).blocks:
        compared(block, printed(block, cluster, DATABASE, tmp_path))


def test_the_recording_shows_the_statements_of_the_readme() -> None:
    assert recording.current(), "run: make test-pages-accept"


@pytest.mark.parametrize("path", PAGES)
def test_every_block_ends(path: str) -> None:
    text = (ROOT / path).read_text()
    assert len(re.findall(r"^```", text, re.M)) == 2 * len(FENCED.findall(text))


def test_differences_are_found() -> None:
    shown = " a | b\n---+------\n 1 | 0.25\n"
    assert same(" a |  b\n---+--------\n 1 | 0.2500001\n", shown)
    for other in (shown.replace("0.25", "0.26"), shown.replace("a", "c"), shown + "(1 row)\n"):
        assert not same(other, shown)
    assert same("one\ntwo\nthree\n", "one\n...\nthree\n")
    assert not same("one\ntwo\nfour\n", "one\n...\nthree\n")
