"""Runs docs/notebook.ipynb in a Jupyter kernel, and reads the output of its cells."""

import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode

from tests.extension.pages.blocks import ROOT
from tools.cluster import Cluster

NOTEBOOK = "docs/notebook.ipynb"
ENVIRONMENT = {
    "PYTHONPATH": str(ROOT / "python" / "src"),
    # tqdm's, which shap imports: no package for Jupyter's progress bars is installed.
    "PYTHONWARNINGS": "ignore:IProgress not found",
}


def read() -> NotebookNode:
    """The notebook with the outputs that it shows."""
    return nbformat.read(ROOT / NOTEBOOK, as_version=4)


def executed(cluster: Cluster, dbname: str) -> NotebookNode:
    """The notebook with the output of its cells in a database; a cell that fails is an error."""
    notebook = read()
    # Without times of the run.
    client = NotebookClient(notebook, timeout=300, record_timing=False)
    client.execute(env=cluster.environment(dbname) | ENVIRONMENT)
    return notebook


def write(notebook: NotebookNode) -> None:
    nbformat.write(notebook, ROOT / NOTEBOOK)


def texts(cell: NotebookNode) -> list[str]:
    """The outputs of a cell as text: printed lines, values as Python shows them, sizes of pictures."""
    return [
        output.text if output.output_type == "stream" else output.data["text/plain"]
        for output in cell.get("outputs", [])
    ]


def pictures(notebook: NotebookNode) -> list[str]:
    """The pictures of a notebook, PNG as base64."""
    return [
        output.data["image/png"]
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if "image/png" in output.get("data", {})
    ]
