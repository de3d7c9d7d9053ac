"""Generates the report's files: pages, the picture, the data of index.html, and parts of other pages.

A template in templates/ that PARTS names fills the marked part of a page that is otherwise written by hand;
every other `NAME.md.j2` is the page docs/benchmarks/NAME.md. Text and tables are in the templates; figures.py
has their filters. `made` returns the text of all files and writes none, so that writing and checking cannot
differ.
"""

import contextlib
import csv
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, TemplateError

from bench.report import (
    claims,
    computed,
    explanations,
    formats,
    headline,
    inside,
    measured,
    programs,
    queries,
    scores,
)
from bench.report.figures import FILTERS
from bench.report.files import Sources, newest
from bench.report.measured import MissingFigure
from bench.report.pictures import clients
from bench.report.web import script

ROOT = Path(__file__).resolve().parents[2]
TEMPLATES = Path(__file__).resolve().parent / "templates"
PAGES = Path("docs/benchmarks")
# The tables behind engine.md.
DATA = PAGES / "engine"
SUFFIX = ".j2"
SCRIPT = "results.js"
ENGINE = "engine.md"
PICTURE, ALTERNATIVE = "clients.svg", "requests per second by clients"
# The page, relative to the repository, and the template of its part.
PARTS = {
    "README.md": "part-of-readme.md",
    "docs/predicting.md": "inside-part.md",
    "docs/benchmarks/formats.md": "part-of-formats.md",
    "docs/managed.md": "part-of-managed.md",
}
# Templates of a separate measurement: its kind or its file, and the function that returns their variables.
APART: dict[str, tuple[str, Callable[[Path], dict[str, Any]]]] = {
    "anywhere.md": ("wheel", programs.wheel),
    "inside.md": ("inside", inside.given),
    "inside-part.md": ("inside", inside.given),
    "part-of-formats.md": (formats.FILE, formats.given),
    "part-of-managed.md": ("functions", programs.functions),
    "queries": (queries.FILE, queries.given),
}
# The cell by which days are compared.
CELL = "postgres_direct/simple/random/25t/20c"
# The parts of engine.md, which are measured separately, on the machine that each record names.
ENGINE_PARTS = {"scores": scores, "explanations": explanations, "queries": queries}
# The generated part of a page.
PART = re.compile(r"^<!-- begin: generated.*?^<!-- end: generated -->\n", re.M | re.S)
END = "<!-- end: generated -->\n"


class BadTemplate(Exception):
    """A template that cannot be rendered, or a page without the mark of its part."""


def of_comparison(sources: Sources) -> dict[str, Any]:
    """Returns the variables of the comparison's pages."""
    local = sources.local
    return {
        "local": local, "split": sources.split, "before": _days(sources),
        "disturbed": _disturbed(sources),
        "documents": claims.judged(sources), "claims": claims, "headline": headline,
        "compared": sum(sum(one.compared.values()) for one in local.result.checked),
        "e": measured, "computed": computed, "RequestSpec": measured.RequestSpec,
        "TREES": measured.TREES,
    }  # fmt: skip


def _disturbed(sources: Sources) -> dict[str, Any] | None:
    """Returns the newest record of bench/disturbed.py, if there is one, with its place."""
    path = sources.other("disturbed")
    name = path and str(path.parent.relative_to(sources.directory))
    return path and json.loads(path.read_text()) | {"name": name}


def _days(sources: Sources) -> list[dict[str, Any]]:
    """Returns how fast the machine was on the days of earlier runs, relative to this one."""
    found, today = [], sources.local.result.started[:10]
    for one in (one for one in sources.earlier if one.result.started[:10] != today):
        with contextlib.suppress(MissingFigure):
            both = one, sources.local
            then, now = (of.named(CELL).requests_per_second.median for of in both)
            us = [computed.round_trip_ms(of, None) * 1e3 for of in both]
            found.append({"of": one, "times": then / now, "us": us[0], "now": us[1]})
    return found


def of_engine(sources: Sources) -> dict[str, Any]:
    """Returns the variables of engine.md, and its tables as CSV; a part without a record is empty."""
    found: dict[str, Any] = {"tables": {}}
    for name, part in ENGINE_PARTS.items():
        run, text = newest(sources.directory, part.FILE), io.StringIO()
        found[name] = {}
        if run:
            found[name] = part.given(run) | {"name": str(run.relative_to(sources.directory))}
            csv.writer(text, lineterminator="\n").writerows(part.table(run))
            found["tables"][f"{name}.csv"] = text.getvalue()
    return found


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


def page(template: str, run: Path) -> str:
    """Renders the page or part of a separate measurement, from a run's directory."""
    given = APART[template][1](run)
    return _environment(TEMPLATES).get_template(template + SUFFIX).render(given, name=run.name)


def _names(sources: Sources, template: str) -> list[str]:
    """Returns a template's sources, relative to bench/results; empty if there are none.

    A separate measurement is the newest on the comparison's machine, unless it is named as a file.
    """
    if template not in APART:
        return [*sources.local.names, *(sources.split.names if sources.split else ())]
    kind = APART[template][0]
    path = sources.other(kind)
    run = newest(sources.directory, kind) if "." in kind else path and path.parent
    return [str(run.relative_to(sources.directory))] if run else []


def with_part(page: str, part: str) -> str:
    before, *rest = PART.split(page)
    if len(rest) != 1:
        raise BadTemplate("a page needs one line <!-- begin: generated -->, and one that ends it")
    return before + part + rest[0]


def made(sources: Sources, root: Path = ROOT, templates: Path = TEMPLATES) -> dict[Path, str]:
    """Returns every generated file, relative to the repository; a part without its record is empty."""
    files: dict[Path, str] = {}
    environment = _environment(templates)
    comparison, of_parts = of_comparison(sources), of_engine(sources)

    def picture() -> str:
        """Returns the Markdown of the picture; empty if the results have no figures for it."""
        if drawn := clients(sources.local):
            files[PAGES / PICTURE] = drawn
        return f"![{ALTERNATIVE}]({PICTURE})" if drawn else ""

    def filled(template: str, names: list[str]) -> str:
        given = of_parts if template == ENGINE else comparison
        if template in APART:
            given = APART[template][1](sources.directory / names[0])
        try:
            found = environment.get_template(template + SUFFIX)
            return found.render(given, name=names[0], picture=picture)
        except TemplateError as error:
            raise BadTemplate(f"{template}: {error}") from error

    for path in sorted(templates.glob(f"*.md{SUFFIX}")):
        template = path.name.removesuffix(SUFFIX)
        if template not in PARTS.values() and (names := _names(sources, template)):
            source = f"generated from bench/results/ ({', '.join(names)})"
            notice = f"<!-- {source} by make report: edit bench/report/templates/{path.name} -->\n"
            files[PAGES / template] = notice + filled(template, names)
    for name, template in PARTS.items():
        names = _names(sources, template)
        part = begin(template, names) + (filled(template, names) if names else "") + END
        files[Path(name)] = with_part((root / name).read_text(), part)
    files[PAGES / SCRIPT] = script(sources)
    files[PAGES / claims.FILE] = claims.table(comparison["documents"])
    return files | {DATA / name: text for name, text in of_parts["tables"].items()}


def stale(files: dict[Path, str], root: Path = ROOT) -> list[str]:
    """Returns the changes that `write` would make, a line each."""
    old = {path: (root / path).read_text() if (root / path).exists() else None for path in files}
    return [
        f"{path} {'is missing' if old[path] is None else 'differs'}"
        for path, text in files.items()
        if text != old[path]
    ]


def write(files: dict[Path, str], root: Path = ROOT) -> None:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
