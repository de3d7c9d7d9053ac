"""The files that the report makes: pages, pictures, and parts of pages between two marks.

Each template in templates/ named in PARTS fills a marked part of a page that is otherwise written by hand;
every other one is a page of docs/benchmarks/. A page that is all tables, of a measurement of its own, is
made by a module of its own (MODULES) from the newest run that left its file, and so may a marked part be
(MODULE_PARTS). `made` gives all files with their whole text, and writes none, so that writing and checking
cannot differ.
"""

import re
import sys
from pathlib import Path
from types import ModuleType

from bench.report import engine, inside
from bench.report.files import Sources, newest
from bench.report.measured import Lacking
from bench.report.pictures import PICTURES, svg
from bench.report.placeholders import BadTemplate, filled
from bench.report.template import fill

ROOT = Path(__file__).resolve().parents[2]
TEMPLATES = Path(__file__).resolve().parent / "templates"
PAGES = Path("docs/benchmarks")
# The page, relative to the repository, and the template of its part.
PARTS = {"README.md": "part-of-readme.md", "python_baseline/README.md": "part-of-service.md"}
# Pages of docs/benchmarks/ that a module makes from a run's directory.
MODULES = {"engine.md": engine, "inside.md": inside}
# The page, and the module that also makes a part of it.
MODULE_PARTS = {"README.md": inside}
# A part, by what its mark says to edit.
PART = re.compile(
    r"^<!-- begin: generated[^\n]*: edit (?P<maker>[^\n]+) -->\n(.*?)^(?P<end><!-- end: generated -->\n)",
    re.M | re.S,
)
PICTURE = "picture "
NOT_MEASURED = "(not measured)"


def maker_of(template: str) -> str:
    """What to edit to change a part: its template, or the module that makes it."""
    return f"bench/report/{'templates/' if template.endswith('.md') else ''}{template}"


def begin(template: str, name: str | None) -> str:
    """The mark before a generated part, which says what it is made from."""
    source = f" from bench/results/{name}" if name else ""
    return f"<!-- begin: generated{source} by make report: edit {maker_of(template)} -->\n"


def module_name(module: ModuleType) -> str:
    """A module as a mark names it."""
    return module.__name__.removeprefix("bench.report.")


def _notice(template: str, sources: Sources) -> str:
    names = [one.name for one in (sources.local, sources.split) if one]
    return (
        f"<!-- generated from bench/results/ ({', '.join(names)}) by make report: edit"
        f" bench/report/templates/{template} -->\n"
    )


def _of_modules(directory: Path) -> dict[Path, str]:
    """The pages of MODULES for which there is a run; its directory's name begins with its date."""
    files = {}
    for name, module in MODULES.items():
        if run := newest(directory, module.MEASURED):
            name_of_run = run.relative_to(directory)
            notice = f"<!-- generated from bench/results/{name_of_run} by make report -->\n"
            files[PAGES / name] = notice + module.page(run)
    return files


def _with_module_part(name: str, page: str, directory: Path | None) -> str:
    """The page with the part that a module makes of it; an empty one where there is no run."""
    module = MODULE_PARTS.get(name)
    if module is None:
        return page
    run = newest(directory, module.MEASURED) if directory else None
    template = module_name(module)
    return with_part(
        page,
        module.part(run) if run else "",
        begin(template, run and str(run.relative_to(directory))),
    )


class _Page:
    """One page being filled, and the pictures that it shows."""

    def __init__(self, sources: Sources, from_root: bool) -> None:
        self._sources = sources
        self._from_root = from_root
        self.pictures: list[str] = []
        # What templates name and the run does not have, beside what it must have.
        self.lacking: list[str] = []

    def _filled(self, inside: str) -> str:
        if not inside.startswith(PICTURE):
            return self._figure(inside)
        name = inside.removeprefix(PICTURE).strip()
        if name not in PICTURES:
            raise BadTemplate(f"no picture is called {name}")
        self.pictures.append(name)
        directory = f"{PAGES}/" if self._from_root else ""
        return f"![{PICTURES[name].alternative}]({directory}{name}.svg)"

    def _figure(self, inside: str) -> str:
        """What it becomes; of a cell that this run did not measure that it was not."""
        try:
            return filled(self._sources, inside)
        except Lacking as error:
            self.lacking.append(str(error))
            return NOT_MEASURED

    def made_of(self, template: Path) -> str:
        try:
            text = fill(template.read_text(), self._sources, self._filled)
        except BadTemplate as error:
            raise BadTemplate(f"{template.name}: {error}") from error
        for line in dict.fromkeys(self.lacking):
            print(f"warning: {template.name}: {line}", file=sys.stderr)
        return text


def with_part(page: str, text: str, begins: str) -> str:
    """A page whose part of the same maker is this text."""
    maker = PART.match(begins + "<!-- end: generated -->\n")["maker"]

    def part(found: re.Match[str]) -> str:
        return begins + text + found["end"] if found["maker"] == maker else found[0]

    return PART.sub(part, page)


def _lacks_part(name: str, text: str) -> str | None:
    """The maker of a part for which the page has no place."""
    module = MODULE_PARTS.get(name)
    wanted = [maker_of(PARTS[name]), *([maker_of(module_name(module))] if module else [])]
    there = {found["maker"] for found in PART.finditer(text)}
    return next((maker for maker in wanted if maker not in there), None)


def made(
    sources: Sources | None, root: Path = ROOT, templates: Path = TEMPLATES
) -> dict[Path, str]:
    """Every generated file, relative to the repository; without a result only parts, and those empty."""
    files: dict[Path, str] = {}
    pictures: dict[str, None] = {}
    for template in sorted(templates.glob("*.md")) if sources else ():
        if template.name not in PARTS.values():
            page = _Page(sources, from_root=False)
            text = page.made_of(template)
            files[PAGES / template.name] = _notice(template.name, sources) + text
            pictures |= dict.fromkeys(page.pictures)
    if sources:
        files |= _of_modules(sources.directory)
    for name, template_name in PARTS.items():
        text = (root / name).read_text()
        if lacking := _lacks_part(name, text):
            raise BadTemplate(f"{name} has no line <!-- begin: generated ... edit {lacking} -->")
        part = ""
        if sources:
            page = _Page(sources, from_root=True)
            part = page.made_of(templates / template_name)
            pictures |= dict.fromkeys(page.pictures)
        begins = begin(template_name, sources.local.name if sources else None)
        text = with_part(text, part, begins)
        files[Path(name)] = _with_module_part(name, text, sources and sources.directory)
    files |= {PAGES / f"{name}.svg": svg(name, sources) for name in pictures}
    return files


def generated_before(root: Path = ROOT) -> list[Path]:
    """The files of docs/benchmarks/ that an earlier report wrote, pictures included."""
    directory = root / PAGES
    pages = [
        path
        for path in directory.glob("*.md")
        if path.read_text().startswith("<!-- generated from ")
    ]
    return [path.relative_to(root) for path in sorted([*pages, *directory.glob("*.svg")])]


def stale(files: dict[Path, str], root: Path = ROOT) -> list[str]:
    """What `write` would change, a line each."""
    found = []
    for path, text in files.items():
        there = (root / path).read_text() if (root / path).exists() else None
        if there != text:
            found.append(f"{path} {'differs' if there is not None else 'is missing'}")
    return found + [f"{path} is left over" for path in generated_before(root) if path not in files]


def write(files: dict[Path, str], root: Path = ROOT) -> list[str]:
    """Writes what is not so yet, deletes what is left over, and says which."""
    changed = stale(files, root)
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        if not (root / path).exists() or (root / path).read_text() != text:
            (root / path).write_text(text)
    for path in generated_before(root):
        if path not in files:
            (root / path).unlink()
    return changed
