"""The blocks of a page of docs/ that a reader copies, and the output that the page shows under each.

A block `text` right behind another is what that one prints. A line `...` in it stands for any lines.
A block without a language is a signature, or a command that no test can run here, and is not run.
"""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
DOCS = ROOT / "docs"
OUTPUT = "text"
FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)


@dataclass(frozen=True)
class Block:
    """A block to run: its language, its text, and the output on the page, if there is one."""

    language: str
    text: str
    shown: str | None = None


@dataclass(frozen=True)
class Section:
    """The title of a part of a page, and its blocks."""

    title: str
    blocks: list[Block]


def blocks(text: str) -> list[Block]:
    """The blocks of a text that have a language, in its order."""
    found: list[Block] = []
    end = 0
    for fenced in FENCED.finditer(text):
        language, body = fenced.groups()
        behind = not text[end : fenced.start()].strip()
        if language == OUTPUT and found and behind:
            found[-1] = Block(found[-1].language, found[-1].text, body)
        elif language and language != OUTPUT:
            found.append(Block(language, body))
        end = fenced.end()
    return found


def page(path: str) -> Section:
    """A page as one section: what psql and the shell run. Other tests run programs, and read files."""
    found = blocks((ROOT / path).read_text())
    return Section(path, [block for block in found if block.language in ("sql", "sh")])


def sections(path: str) -> list[Section]:
    """The sections of a page that have blocks; what comes before the first heading is none."""
    parts = re.split(r"^## (.+)$", (ROOT / path).read_text(), flags=re.M)[1:]
    read = zip(parts[::2], parts[1::2], strict=True)
    found = [Section(title, blocks(text)) for title, text in read]
    return [section for section in found if section.blocks]
