"""`python -m tests.extension.pages PAGE...`: writes the output of each block of a page behind the block.

The notebook, docs/notebook.ipynb, gets the outputs of its cells, and the recording of README.md is made again
where it does not show what the page does.

As `make test-sql-accept` does for tests/extension/sql: read the difference before you commit it.
"""

import re
import sys
import tempfile
from pathlib import Path

from tests.conftest import PREFERRED_PORT, SETTINGS
from tests.extension.pages import notebook, recording
from tests.extension.pages.blocks import ROOT, Section, outputs, page, sections
from tests.extension.pages.conftest import BY_SECTION, copy, make
from tests.state import STATE
from tools.cluster import start, stop


def fill(path: str, found: list[tuple[Section, list[str]]]) -> None:
    """Puts each output behind its block, where the page shows one. One that is cut stays as it is."""
    text = (ROOT / path).read_text()
    place = 0
    for section, printed_ in found:
        for block, output in zip(section.blocks, printed_, strict=True):
            if block.shown is None:
                continue
            behind = f"```{block.language}\n{block.text}```\n"
            place = text.index(behind, place) + len(behind)
            shown = re.compile(r"\s*```text\n(.*?)^```$", re.M | re.S).match(text, place)
            if "...\n" not in block.shown:
                text = text[: shown.start(1)] + output + text[shown.end(1) :]
    (ROOT / path).write_text(text)


def main() -> None:
    """Fills the pages that are named."""
    stop(STATE, delete=True)
    cluster, _ = start(STATE, PREFERRED_PORT, SETTINGS)
    try:
        make(cluster)
        paths = sys.argv[1:]
        if notebook.NOTEBOOK in paths:
            paths.remove(notebook.NOTEBOOK)
            cluster.create_database("page", replace=True)
            notebook.write(notebook.executed(cluster, "page"))
        for path in paths:
            parts = sections(path) if path in BY_SECTION else [page(path)]
            found = []
            for part in parts:
                copy(cluster, "page", path)
                with tempfile.TemporaryDirectory() as folder:
                    found.append((part, outputs(part, cluster, "page", Path(folder))))
            fill(path, found)
        if recording.PAGE in paths:
            copy(cluster, "page", recording.PAGE)
            recording.write(cluster, "page")
    finally:
        stop(STATE, delete=True)


if __name__ == "__main__":
    main()
