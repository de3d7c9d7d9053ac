"""Pages, comments in the catalog and messages are in standard technical English.

The words below have a usual one that says the same. Code is not looked at: in pages what is between
backticks and in blocks, in programs all but literals and comments. docs/dev/decisions.md is a record.
"""

import ast
import re
from collections.abc import Collection, Iterator
from pathlib import Path

import pytest

from tests.files import ROOT, files

# A word, and what to write in its place.
WORDS = {
    r"rights|(?:a|an|any|no|the) right (?:to|on|of|for)": "privilege",
    r"beside": "next to, compared with, during",
    r"mend(?:s|ed|ing)?": "fix",
    r"anew": "again",
    r"lack(?:s|ed|ing)?": "has no, misses",
    r"held": "tested",
    r"of (?:its|their|his|one's|your|our) own": "separate",
    r"what is asked of": "requirements",
}
# In comments a lock is held, memory is too, and methods are named after what a system lacks.
USUAL_IN_COMMENTS = {word for word in WORDS if word.startswith(("held", "lack", "rights"))}
PAGES = (
    "*.md",
    "docs/*.md",
    "docs/dev/*.md",
    "bench/compose/*.md",
    "python/*.md",
    "extension/**/*.md",
)
RECORDS = {ROOT / "docs" / "dev" / "decisions.md"}
BLOCK = re.compile(r"^```.*?^```$", re.M | re.S)
SPAN = re.compile(r"`[^`]*`")
# Of Rust, of Python and scripts, of SQL.
COMMENT = re.compile(r"^\s*(?://[/!]?|#|--)\s(.*)$", re.M)
LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')
TARGET = re.compile(r"^[\w-]+:.*## (.*)$", re.M)


def pages() -> Iterator[tuple[Path, str]]:
    """The pages, without code."""
    for pattern in PAGES:
        for path in ROOT.glob(pattern):
            if path not in RECORDS and "target" not in path.parts:
                yield path, SPAN.sub("", BLOCK.sub("", path.read_text()))


def scripts() -> Iterator[tuple[Path, str]]:
    """The scripts of the extensions, and what `make help` prints."""
    for path in ROOT.glob("extension/*/*.sql"):
        yield path, path.read_text()
    makefile = ROOT / "Makefile"
    yield makefile, "\n".join(TARGET.findall(makefile.read_text()))


def rust() -> Iterator[tuple[Path, str]]:
    """The literals of the extensions and the engine, as lines of them have them."""
    for path in ROOT.glob("extension/*/src/**/*.rs"):
        code = [
            line for line in path.read_text().splitlines() if not line.lstrip().startswith("//")
        ]
        yield path, "\n".join(LITERAL.findall("\n".join(code)))


def python() -> Iterator[tuple[Path, str]]:
    """The literals and docstrings of the package."""
    for path in ROOT.glob("python/src/**/*.py"):
        nodes = ast.walk(ast.parse(path.read_text()))
        texts = (node.value for node in nodes if isinstance(node, ast.Constant))
        yield path, "\n".join(text for text in texts if isinstance(text, str))


def comments() -> Iterator[tuple[Path, str]]:
    """The comments of all programs, and docstrings, without what is between backticks."""
    for name in files("*.rs", "*.py", "*.sh", "*.sql", "*.toml", "*.yml", "*.j2", "Makefile"):
        path = ROOT / name
        text = path.read_text()
        lines = [match[1] for match in COMMENT.finditer(text)]
        if path.suffix == ".py" and path != Path(__file__):
            lines += [ast.get_docstring(node) or "" for node in documented(ast.parse(text))]
        yield path, SPAN.sub("", "\n".join(lines))


def documented(module: ast.Module) -> Iterator[ast.Module | ast.ClassDef | ast.FunctionDef]:
    for node in ast.walk(module):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            yield node


def found(text: str, usual: Collection[str] = ()) -> list[str]:
    """The words in a text, each with what to write instead, other than those that are usual there."""
    one_line = " ".join(text.split())
    return [
        f'"{match[0]}": write {instead}'
        for word, instead in WORDS.items()
        if word not in usual
        for match in re.finditer(rf"\b(?:{word})\b", one_line, re.I)
    ]


@pytest.mark.parametrize("texts", [pages, scripts, rust, python], ids=lambda texts: texts.__name__)
def test_usual_words_are_used(texts) -> None:
    read = list(texts())
    assert read
    bad = {str(path.relative_to(ROOT)): found(text) for path, text in read}
    assert {path: words for path, words in bad.items() if words} == {}


def test_usual_words_are_in_comments() -> None:
    read = list(comments())
    assert len(read) > 500
    bad = {str(path.relative_to(ROOT)): found(text, USUAL_IN_COMMENTS) for path, text in read}
    assert {path: words for path, words in bad.items() if words} == {}


def test_each_word_is_found() -> None:
    for text in (
        "read with the caller's rights", "who has no right to it", "compared beside it",
        "it was\nmended", "made anew", "the key lacks", "Held by a test", "a process of its own",
        "what is asked of it",
    ):  # fmt: skip
        assert len(found(text)) == 1, text
    assert not found("the right child, with the right class; pgboost's own")
