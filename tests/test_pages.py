"""Names in pages lead somewhere: links to files and headings, files in code, tests of promises, scripts.

Blocks of code are read by their language: two lines that became one are an error.
"""

import ast
import json
import re
import subprocess
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]


def files(*patterns: str) -> list[str]:
    """The files of these names, from the repository's root."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", *patterns]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return [name for name in listed.stdout.split("\0") if name]


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


CREATED = re.compile(
    r"^CREATE (?:AGGREGATE|FUNCTION|VIEW) @extschema@\.(\w+)(?!.*RETURNS trigger)", re.M
)


@pytest.mark.parametrize("extension", ["pgboost", "pgboost_train"])
def test_the_reference_has_each_function_and_view(extension: str) -> None:
    created = CREATED.findall((ROOT / f"extension/{extension}/{extension}.sql").read_text())
    named = set(re.findall(r"\w+", (ROOT / "docs/sql-reference.md").read_text()))
    assert created and set(created) <= named


@pytest.mark.parametrize("page", [page for page in files("*.md") if blocks(page)])
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


CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.M | re.S)
LINK = re.compile(r"\]\(([^)\s]+)\)|^\[[^\]]+\]: (\S+)$|(?<= src=)\"([^\"]+)\"", re.M)
# A file in code, or at the beginning of a line of a listing.
FILE = re.compile(
    r"`((?:[\w.-]+/)*[\w.-]+\.(?:rs|py|sh|sql|md|toml|txt|out|h))`|^((?:\w+/)*\w+\.(?:rs|py|sql))\b",
    re.M,
)
# A test that a script runs.
RUN = re.compile(r"(?<![\w/])tests/(?:[\w-]+/)*[\w-]+\.(?:py|sh)\b")
# Of a file that a how-to makes.
PLACEHOLDER = re.compile(r"NAME|--A--B")
HEADING = re.compile(r"^#+ (.*)$", re.M)


def anchor(heading: str) -> str:
    """The anchor that GitHub gives a heading."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")


def links(text: str) -> list[str]:
    """The links of a page that do not lead out of the repository."""
    found = [next(filter(None, match)) for match in LINK.findall(CODE.sub("", text))]
    return [link for link in found if not re.match(r"\w+:", link)]


def anchors(text: str) -> set[str]:
    without_blocks = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    return {anchor(heading) for heading in HEADING.findall(without_blocks)}


@pytest.mark.parametrize("page", files("*.md"))
def test_links_lead_somewhere(page: str) -> None:
    path = ROOT / page
    for link in links(path.read_text()):
        name, _, wanted = link.partition("#")
        target = path.parent / name if name else path
        assert target.exists(), link
        if wanted and target.suffix == ".md":
            assert wanted in anchors(target.read_text()), link


@pytest.mark.parametrize("page", files("docs/dev/*.md", ":(glob)extension/*/README.md"))
def test_named_files_exist(page: str) -> None:
    paths = {f"/{path}" for path in files()}
    named = [next(filter(None, match)) for match in FILE.findall((ROOT / page).read_text())]
    lost = [
        name
        for name in named
        if not PLACEHOLDER.search(name) and not any(path.endswith(f"/{name}") for path in paths)
    ]
    assert lost == []


@pytest.mark.parametrize("script", files("Makefile", ".ci/run", "*.sh", ".github/workflows/*.yml"))
def test_tests_that_scripts_run_exist(script: str) -> None:
    named = RUN.findall((ROOT / script).read_text())
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_links_are_found() -> None:
    text = (
        '[a](b.md#c-d), `[no](link)` and ![e](f.svg) <img src="g.svg"> [h](https://i)\n[j]: k.md\n'
    )
    assert links(text) == ["b.md#c-d", "f.svg", "g.svg", "k.md"]
    assert anchors("# A\n\n## `train_model`: [what](x) it does\n") == {
        "a",
        "train_model-what-it-does",
    }


TESTING = ROOT / "docs" / "dev" / "testing.md"
PROMISES = 47
# Where the page's paths begin.
FOLDERS = (ROOT, ROOT / "tests" / "extension", ROOT / "extension")
# A file or folder in code, and perhaps a test in it.
NAMED = re.compile(r"`((?:[\w.-]+/)+[\w.-]*|[\w-]+\.(?:md|toml|sh|py))(?:::(\w+))?`")


def named() -> Iterator[tuple[str, str]]:
    """The files of the page, each with a test or an empty string."""
    yield from NAMED.findall(TESTING.read_text())


def test_every_promise_has_a_line() -> None:
    numbers = re.findall(r"^(\d+)\. \*\*", TESTING.read_text(), re.MULTILINE)
    assert numbers == [str(number) for number in range(1, PROMISES + 1)]


@pytest.mark.parametrize(("path", "test"), sorted(set(named())))
def test_what_is_named_exists(path: str, test: str) -> None:
    found = [folder / path for folder in FOLDERS if (folder / path).exists()]
    assert found
    if test:
        assert re.search(rf"^\s*(?:def|fn) {test}\(", found[0].read_text(), re.MULTILINE)
