"""Every test and file that docs/dev/testing.md names as what holds a promise exists."""

import re
from collections.abc import Iterator

import pytest

from tests.files import ROOT

PAGE = ROOT / "docs" / "dev" / "testing.md"
PROMISES = 47
# Where the page's paths begin.
FOLDERS = (ROOT, ROOT / "tests" / "extension", ROOT / "extension")
# A file or folder in code, and perhaps a test in it.
NAMED = re.compile(r"`((?:[\w.-]+/)+[\w.-]*|[\w-]+\.(?:md|toml|sh|py))(?:::(\w+))?`")


def named() -> Iterator[tuple[str, str]]:
    """The files of the page, each with a test or an empty string."""
    yield from NAMED.findall(PAGE.read_text())


def test_every_promise_has_a_line() -> None:
    numbers = re.findall(r"^(\d+)\. \*\*", PAGE.read_text(), re.MULTILINE)
    assert numbers == [str(number) for number in range(1, PROMISES + 1)]


@pytest.mark.parametrize(("path", "test"), sorted(set(named())))
def test_what_is_named_exists(path: str, test: str) -> None:
    found = [folder / path for folder in FOLDERS if (folder / path).exists()]
    assert found
    if test:
        assert re.search(rf"^\s*(?:def|fn) {test}\(", found[0].read_text(), re.MULTILINE)
