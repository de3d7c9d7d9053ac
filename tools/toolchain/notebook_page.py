"""Converts the notebook to a page: its cells with their output."""

import json
from pathlib import Path
from typing import Any


def page(notebook: Path) -> str:
    """Returns the page in Markdown."""
    return "\n\n".join(map(markdown, json.loads(notebook.read_text())["cells"]))


def shown(output: dict[str, Any]) -> str:
    """Converts an output of a cell: a picture, or text."""
    data = output.get("data", {"text/plain": output.get("text", [])})
    if "image/png" in data:
        return f"![](data:image/png;base64,{data['image/png'].strip()})"
    return f"```text\n{''.join(data['text/plain']).rstrip()}\n```"


def markdown(cell: dict[str, Any]) -> str:
    """Converts a cell and its outputs."""
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        return source
    return "\n\n".join([f"```py\n{source}\n```", *map(shown, cell["outputs"])])
