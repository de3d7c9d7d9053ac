"""docs/notebook.ipynb runs in an empty database, and its cells print what it shows."""

import base64

import pytest
from nbformat import NotebookNode

from tests.extension.pages import notebook
from tests.extension.pages.blocks import ROOT
from tests.extension.pages.running import same
from tools.cluster import Cluster

DATABASE = "notebook"
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(scope="module")
def run(cluster: Cluster) -> NotebookNode:
    """The notebook as it runs here."""
    cluster.create_database(DATABASE, replace=True)
    return notebook.executed(cluster, DATABASE)


def test_cells_print_the_output_of_the_notebook(run: NotebookNode) -> None:
    shown = notebook.read().cells
    assert [cell.execution_count for cell in shown if cell.cell_type == "code"] == list(
        range(1, sum(cell.cell_type == "code" for cell in shown) + 1)
    )
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
