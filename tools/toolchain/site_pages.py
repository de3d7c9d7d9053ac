"""A hook of mkdocs that adds pages from outside docs/, and rewrites links to pages of the site.

A link to a file that is not a page of the site, such as a test, is replaced by its text.
"""

import posixpath
import re
from pathlib import Path

import api_page
import notebook_page
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
    return notebook_page.page(path) if path.suffix == ".ipynb" else path.read_text()


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
