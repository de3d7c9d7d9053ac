"""Every link of a page to a file of the repository leads to it, and to a heading that it has; files that the
developers' pages name in code exist, by their path or its end, and tests that scripts run."""

import re

import pytest

from tests.files import ROOT, files

PAGES = files("*.md")
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


@pytest.mark.parametrize("page", PAGES)
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
