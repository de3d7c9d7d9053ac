"""Generates the report's files: pages, pictures, the data of index.html, and parts of other pages.

Each template in templates/ named in PARTS fills a marked part of a page that is otherwise written by hand;
every other `NAME.md.j2` is the page docs/benchmarks/NAME.md. Text and tables are in the templates; figures.py
has their filters, context.py their variables. `made` returns the text of all files and writes none, so that
writing and checking cannot differ.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, TemplateError

from bench.report import engine, formats, inside, queries, wheel
from bench.report.context import of_comparison, of_ways
from bench.report.figures import FILTERS
from bench.report.files import Sources, newest
from bench.report.pictures import PICTURES, svg
from bench.report.web import script

ROOT = Path(__file__).resolve().parents[2]
TEMPLATES = Path(__file__).resolve().parent / "templates"
PAGES = Path("docs/benchmarks")
# The tables behind engine.md.
DATA = PAGES / "engine"
SUFFIX = ".j2"
SCRIPT = "results.js"
# The page, relative to the repository, and the templates of its parts.
PARTS = {
    "README.md": ("part-of-readme.md",),
    "docs/predicting.md": ("inside-part.md",),
    "python_baseline/README.md": ("part-of-service.md",),
    "docs/benchmarks/formats.md": ("part-of-formats.md",),
}
# Templates of a separate measurement: its kind, and the function that returns their variables.
APART: dict[str, tuple[str, Callable[[Path], dict[str, Any]]]] = {
    "anywhere.md": ("wheel.json", wheel.given),
    "inside.md": ("inside", inside.given),
    "inside-part.md": ("inside", inside.given),
    "part-of-formats.md": (formats.FILE, formats.given),
}
# Variables of other pages, in addition to the comparison's.
GIVEN: dict[str, Callable[[Sources], dict[str, Any]]] = {
    "ways.md": of_ways,
    "engine.md": engine.given,
}
# Pages or parts that a program prints after measuring.
PRINTED = {
    "inside": ("inside.md", inside.given),
    "queries": ("queries", queries.given),
    "wheel": ("anywhere.md", wheel.given),
}
# A generated part of a page; its mark names the template to edit.
PART = re.compile(
    r"^<!-- begin: generated[^\n]*: edit (?P<maker>[^\n]+) -->\n(.*?)^(?P<end><!-- end: generated -->\n)",
    re.M | re.S,
)


class BadTemplate(Exception):
    """A template that cannot be rendered, or a page without the mark of its part."""


def begin(template: str, names: list[str]) -> str:
    """Returns the mark before a generated part, which names its sources."""
    source = f" from bench/results/{', '.join(names)}" if names else ""
    maker = f"bench/report/templates/{template}{SUFFIX}"
    return f"<!-- begin: generated{source} by make report: edit {maker} -->\n"


def _environment(templates: Path) -> Environment:
    environment = Environment(
        loader=FileSystemLoader([templates, TEMPLATES]), undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
        extensions=["jinja2.ext.do"], autoescape=False,
    )  # fmt: skip
    environment.filters |= FILTERS
    # Renders a part of a page with the given variables only.
    environment.globals["part"] = lambda part, given: environment.get_template(part).render(given)
    return environment


def page(kind: str, run: Path) -> str:
    """Renders the page or part of a separate measurement, from a run's directory."""
    template, given = PRINTED[kind]
    return (
        _environment(TEMPLATES)
        .get_template(template + SUFFIX)
        .render(given(run) | {"name": run.name})
    )


def _run(sources: Sources, kind: str) -> Path | None:
    """Returns the newest run of a kind, on the comparison's machine unless `kind` is a file's name."""
    if "." in kind:
        return newest(sources.directory, kind)
    path = sources.other(kind)
    return path and path.parent


def _names(sources: Sources | None, template: str) -> list[str]:
    """Returns a template's sources, relative to bench/results; empty if there is no page."""
    if sources is None:
        return []
    if template in APART:
        run = _run(sources, APART[template][0])
        return [str(run.relative_to(sources.directory))] if run else []
    return [*sources.local.names, *([sources.split.name] if sources.split else [])]


class _Maker:
    """Renders templates, and collects the pictures that they show."""

    def __init__(self, sources: Sources | None, templates: Path) -> None:
        self._sources, self.pictures = sources, {}
        self._environment = _environment(templates)
        self._comparison = of_comparison(sources) if sources else {}

    def _picture(self, name: str) -> str:
        """Returns the Markdown of a picture; empty if the results have no figures for it."""
        if name not in PICTURES:
            raise BadTemplate(f"no picture is called {name}")
        if drawn := svg(name, self._sources):
            self.pictures[PAGES / f"{name}.svg"] = drawn
        return f"![{PICTURES[name][1]}]({name}.svg)" if drawn else ""

    def filled(self, template: str) -> str:
        """Renders a template; empty if there is no run."""
        names = _names(self._sources, template)
        if not names:
            return ""
        given = self._comparison
        if template in GIVEN:
            given = given | GIVEN[template](self._sources)
        elif template in APART:
            given = APART[template][1](self._sources.directory / names[0])
        try:
            found = self._environment.get_template(template + SUFFIX)
            return found.render(given, name=names[0], picture=self._picture)
        except TemplateError as error:
            raise BadTemplate(f"{template}: {error}") from error


def with_part(page: str, text: str, begins: str) -> str:
    """Replaces the part of a page that has the same template."""
    maker = PART.match(begins + "<!-- end: generated -->\n")["maker"]

    def part(found: re.Match[str]) -> str:
        return begins + text + found["end"] if found["maker"] == maker else found[0]

    if all(found["maker"] != maker for found in PART.finditer(page)):
        raise BadTemplate(f"a page has no line <!-- begin: generated ... edit {maker} -->")
    return PART.sub(part, page)


def made(
    sources: Sources | None, root: Path = ROOT, templates: Path = TEMPLATES
) -> dict[Path, str]:
    """Returns every generated file, relative to the repository; without a result only parts, empty ones."""
    files: dict[Path, str] = {}
    maker = _Maker(sources, templates)
    parts = {name for several in PARTS.values() for name in several}
    for path in sorted(templates.glob(f"*.md{SUFFIX}")):
        template = path.name.removesuffix(SUFFIX)
        if template not in parts and (names := _names(sources, template)):
            source = f"generated from bench/results/ ({', '.join(names)})"
            notice = f"<!-- {source} by make report: edit bench/report/templates/{path.name} -->\n"
            files[PAGES / template] = notice + maker.filled(template)
    for name, several in PARTS.items():
        text = (root / name).read_text()
        for template in several:
            text = with_part(
                text, maker.filled(template), begin(template, _names(sources, template))
            )
        files[Path(name)] = text
    if sources:
        files[PAGES / SCRIPT] = script(sources)
        files |= {DATA / name: text for name, text in engine.data(sources).items()}
    return files | maker.pictures


def _left_over(files: dict[Path, str], root: Path) -> list[Path]:
    """Returns the files of docs/benchmarks/ that an earlier report wrote and this one does not."""
    found = [
        path.relative_to(root)
        for path in sorted((root / PAGES).rglob("*"))
        if path.suffix in (".csv", ".svg") or path.name == SCRIPT
        or (path.suffix == ".md" and path.read_text().startswith("<!-- generated from "))
    ]  # fmt: skip
    return [path for path in found if path not in files]


def stale(files: dict[Path, str], root: Path = ROOT) -> list[str]:
    """Returns the changes that `write` would make, a line each."""
    missing = [path for path in files if not (root / path).exists()]
    differ = [p for p, text in files.items() if p not in missing and (root / p).read_text() != text]
    said = dict.fromkeys(missing, "is missing") | dict.fromkeys(differ, "differs")
    left = [f"{path} is left over" for path in _left_over(files, root)]
    return [f"{path} {said[path]}" for path in files if path in said] + left


def write(files: dict[Path, str], root: Path = ROOT) -> list[str]:
    """Writes all files, deletes left-over ones, and returns the changes."""
    changed = stale(files, root)
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    for path in _left_over(files, root):
        (root / path).unlink()
    return changed
