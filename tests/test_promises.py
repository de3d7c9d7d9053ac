"""Every test and file that docs/dev/testing.md names as what holds a promise exists."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "dev" / "testing.md"
PROMISES = 43
# A name in code that ends as a file or folder does, and perhaps the name of a test in it.
NAMED = re.compile(r"`((?:[\w.-]+/)+[\w.-]*|[\w-]+\.(?:md|toml|sh))(?:::(\w+))?`")


def named() -> list[tuple[str, str]]:
    return sorted(set(NAMED.findall(PAGE.read_text())))


def test_every_promise_has_a_line() -> None:
    numbers = re.findall(r"^(\d+)\. \*\*", PAGE.read_text(), re.MULTILINE)
    assert numbers == [str(number) for number in range(1, PROMISES + 1)]


@pytest.mark.parametrize(("path", "test"), named())
def test_what_is_named_exists(path: str, test: str) -> None:
    file = ROOT / path
    assert file.exists()
    if test:
        assert re.search(rf"^\s*(?:def|fn) {test}\(", file.read_text(), re.MULTILINE)
