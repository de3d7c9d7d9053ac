"""A hook of mkdocs: the notebook becomes a page of the site, with what its cells print and draw.

It comes before toolchain/site_pages.py, which leads the links.
"""

import json
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

NOTEBOOK = Path(__file__).with_name("notebook.ipynb")
PAGE = "notebook.md"


def shown(output: dict[str, Any]) -> str:
    """An output of a cell: a picture, or text."""
    data = output.get("data", {"text/plain": output.get("text", [])})
    if "image/png" in data:
        return f"![](data:image/png;base64,{data['image/png'].strip()})"
    return f"```text\n{''.join(data['text/plain']).rstrip()}\n```"


def markdown(cell: dict[str, Any]) -> str:
    """A cell and its outputs."""
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        return source
    return "\n\n".join([f"```py\n{source}\n```", *map(shown, cell["outputs"])])


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the page."""
    cells = json.loads(NOTEBOOK.read_text())["cells"]
    files.append(File.generated(config, PAGE, content="\n\n".join(map(markdown, cells))))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Links to the notebook lead to the page."""
    return markdown.replace("notebook.ipynb)", f"{PAGE})")
