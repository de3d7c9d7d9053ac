"""Every block of the users' pages runs, in its order, and prints what the page shows under it, and so do the
cells of docs/notebook.ipynb."""

import base64
import re
from pathlib import Path

import pytest
from nbformat import NotebookNode

from tests.extension.pages import notebook, recording
from tests.extension.pages.blocks import DOCS, FENCED, ROOT, compared, page, same
from tests.extension.pages.conftest import copy
from tools.cluster import Cluster
from tools.cluster.server import installed

DATABASE = "page"
PAGES = sorted(
    f"docs/{path.name}" for path in DOCS.glob("*.md") if page(f"docs/{path.name}").blocks
)
SEARCH = "docs/search.md"
# Other tests run these.
APART = ("docs/recipes.md", "docs/clients.md", SEARCH)
# Its claim about a product without clicks: the model has learned from NULL, and 0 is no substitute.
MISSING = """
    SELECT count(*) > 0, avg(abs(predict('ranker', s) - predict('ranker', z))) > 0.1
    FROM shown AS s, LATERAL (SELECT distance, text_rank, price, age, 0 AS clicks) AS z WHERE s.clicks IS NULL
"""
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.mark.usefixtures("tables")
@pytest.mark.parametrize("path", [path for path in PAGES if path not in APART] + ["README.md"])
def test_every_block_prints_the_output_of_the_page(
    path: str, cluster: Cluster, tmp_path: Path
) -> None:
    copy(cluster, DATABASE, path)
    compared(page(path), cluster, DATABASE, tmp_path)


def test_the_page_ranks_candidates_of_two_indexes(cluster: Cluster, tmp_path: Path) -> None:
    if not (installed("--pkglibdir") / "vector.so").exists():
        pytest.skip("this PostgreSQL has no pgvector")
    copy(cluster, DATABASE, SEARCH)
    compared(page(SEARCH), cluster, DATABASE, tmp_path)
    with cluster.connect(DATABASE) as connection:
        assert connection.execute(MISSING).fetchone() == (True, True)
        # An index on the vectors finds what the table has, and both ways find candidates.
        found = connection.execute(
            "SELECT count(*) FROM searches AS s, candidates(s.query, s.near) WHERE s.id <= 20"
        ).fetchone()
        assert 20 * 100 <= found[0] <= 20 * 200


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


@pytest.fixture(scope="module")
def run(cluster: Cluster) -> NotebookNode:
    """The notebook as it runs here, in an empty database."""
    cluster.create_database("notebook", replace=True)
    return notebook.executed(cluster, "notebook")


def test_cells_print_the_output_of_the_notebook(run: NotebookNode) -> None:
    shown = notebook.read().cells
    counts = [cell.execution_count for cell in shown if cell.cell_type == "code"]
    assert counts == list(range(1, len(counts) + 1))
    for cell, expected in zip(run.cells, shown, strict=True):
        printed, wanted = notebook.texts(cell), notebook.texts(expected)
        assert len(printed) == len(wanted), f"{cell.source}\nprints\n{printed}"
        for one, other in zip(printed, wanted, strict=True):
            assert same(one, other), f"{cell.source}\nprints\n{one}"


def test_pictures_are_drawn(run: NotebookNode) -> None:
    drawn, shown = notebook.pictures(run), notebook.pictures(notebook.read())
    assert len(drawn) == len(shown) == 2
    assert all(base64.b64decode(picture).startswith(PNG) for picture in drawn + shown)


def test_the_file_is_small_and_names_no_machine() -> None:
    text = (ROOT / notebook.NOTEBOOK).read_text()
    assert len(text) < 200_000
    assert str(ROOT) not in text and "site-packages" not in text
