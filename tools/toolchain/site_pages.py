"""A hook of mkdocs that adds pages from outside docs/, and rewrites links to pages of the site.

A link to a file that is not a page of the site, such as a test, is replaced by its text.
"""

import json
import posixpath
import re
from pathlib import Path
from typing import Any

import api_page
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
# Files outside docs/, and their uris in the site.
OUTSIDE = {
    "README.md": "index.md",
    "python/README.md": "python.md",
    "SECURITY.md": "security.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "dev/contributing.md",
    "docs/notebook.ipynb": "notebook.md",
    # index.html would collide with the page of the folder's README.md.
    "docs/benchmarks/index.html": "benchmarks/cells.html",
}
STYLE = """
.md-grid { max-width: 76rem }
.md-typeset td > code { white-space: nowrap }
"""
LINK = re.compile(r"(?P<image>!?)\[(?P<text>[^\]]*)\]\((?P<target>[^)\s]+)\)")
SOURCE = re.compile(r'(?<= src=")[^":]+(?=")')


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages of `OUTSIDE`, that of the Python API, and the style."""
    for path, uri in OUTSIDE.items():
        files.append(File.generated(config, uri, content=content(ROOT / path)))
    files.append(File.generated(config, "python-api.md", content=api_page.page()))
    files.append(File.generated(config, "site.css", content=STYLE))
    return files


def content(path: Path) -> str:
    """Returns a file's page."""
    return notebook_page(path) if path.suffix == ".ipynb" else path.read_text()


def notebook_page(notebook: Path) -> str:
    """Returns the notebook as a page in Markdown: its cells with their output."""
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


def in_repository(uri: str) -> str:
    """Returns the path in the repository of a uri of the site."""
    return next((path for path, other in OUTSIDE.items() if other == uri), f"docs/{uri}")


def in_site(path: str) -> str:
    """Returns the uri in the site of a file of the repository, or an empty string."""
    return OUTSIDE.get(path, path.removeprefix("docs/") if path.startswith("docs/") else "")


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Rewrites the links of a page to those of the site."""
    here = page.file.src_uri
    folder = posixpath.dirname(in_repository(here))

    def led(target: str) -> str:
        path, hash_, anchor = target.partition("#")
        uri = in_site(posixpath.normpath(posixpath.join(folder, path)))
        if not uri or files.get_file_from_path(uri) is None:
            return ""
        return posixpath.relpath(uri, posixpath.dirname(here) or ".") + hash_ + anchor

    def link(match: re.Match[str]) -> str:
        target = match["target"]
        if target.startswith("#") or ":" in target:
            return match[0]
        found = led(target)
        return f"{match['image']}[{match['text']}]({found})" if found else match["text"]

    return SOURCE.sub(lambda match: led(match[0]), LINK.sub(link, markdown))
