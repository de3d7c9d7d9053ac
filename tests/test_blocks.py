"""Blocks of code in pages are read by their language: two lines that became one are an error."""

import ast
import json
import re
import subprocess
import tomllib
from collections.abc import Callable

import pytest
import yaml

from tests.files import ROOT, files

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)


def shell(text: str) -> None:
    subprocess.run(["bash", "-n"], input=text, text=True, check=True)


READERS: dict[str, Callable[[str], object]] = {
    "json": json.loads, "py": ast.parse, "python": ast.parse, "sh": shell, "toml": tomllib.loads,
    "yaml": yaml.safe_load,
}  # fmt: skip


def blocks(page: str) -> list[tuple[str, str]]:
    found = BLOCK.findall((ROOT / page).read_text())
    return [(language, text) for language, text in found if language in READERS]


PAGES = [page for page in files("*.md") if blocks(page)]


@pytest.mark.parametrize("page", PAGES)
def test_blocks_are_read(page: str) -> None:
    for language, text in blocks(page):
        READERS[language](text)


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("toml", "engine = true # first other = true #\nsecond variants.http = {}"),
        ("sh", "psql -c 'SELECT 1\ncurl -d '[1]' localhost"),
        ("json", '{"a": 1, "b":\n"c": 2}'),
        ("python", "import a from b import c"),
        ("yaml", "a: b: c"),
    ],
)
def test_glued_lines_are_refused(language: str, text: str) -> None:
    with pytest.raises((ValueError, SyntaxError, subprocess.CalledProcessError, yaml.YAMLError)):
        READERS[language](text)
