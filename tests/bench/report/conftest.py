"""A directory of made-up results, and a repository of two pages with a marked part each."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from bench import results
from bench.report import pages
from bench.report.files import Sources, sources
from bench.report.measured import Measured
from tests.bench.report import made_up

LOCAL, SPLIT = "2026-01-01-made-up", "2026-01-01-made-up-split"
PAGE = "# Page\n\n## Comparison\n\nBy hand.\n\n{part}\n## More\n\nText.\n"


def repository(directory: Path) -> Path:
    """Writes the pages with a marked part, without further text."""
    for name, template in pages.PARTS.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(PAGE.format(part=pages.begin(template, []) + pages.END))
    return directory


def scaled(measured: Measured, system: str, factor: float, name: str | None = None) -> Measured:
    """Returns a result with a system sped up by a factor, or with that as a further system."""
    own = [cell for cell in measured.result.cells if cell.system == system and cell.runs]
    others = [cell for cell in measured.result.cells if name or cell not in own]
    cells = [
        replace(
            cell,
            system=name or system,
            name=cell.name.replace(system, name or system),
            runs=[
                replace(
                    run,
                    requests_per_second=run.requests_per_second * factor,
                    latency_ms={name: ms / factor for name, ms in run.latency_ms.items()},
                    server=replace(run.server, cpu_seconds=run.server.cpu_seconds / factor),
                )
                for run in cell.runs
            ],
        )
        for cell in own
    ]
    return Measured(replace(measured.result, cells=[*others, *cells]), measured.name)


@pytest.fixture(scope="session")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of one machine and of three hosts. Not to be changed."""
    directory = tmp_path_factory.mktemp("results")
    for name, result in ((LOCAL, made_up.local()), (SPLIT, made_up.split())):
        (directory / name).mkdir()
        results.write(directory / name / "results.json", result)
    return directory


@pytest.fixture
def directory(original: Path, tmp_path: Path) -> Path:
    """A copy of the results that a test may change."""
    return Path(shutil.copytree(original, tmp_path / "results"))


@pytest.fixture(scope="session")
def made(original: Path) -> Sources:
    """The report's sources."""
    return sources(original)


@pytest.fixture(scope="session")
def files(made: Sources, tmp_path_factory: pytest.TempPathFactory) -> dict[Path, str]:
    """The files that the report makes of the results. Not to be changed."""
    return pages.made(made, repository(tmp_path_factory.mktemp("repository")))


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """Templates of parts, and of one page with one picture, which suffice for most tests."""
    templates = Path(shutil.copytree(pages.TEMPLATES, tmp_path / "templates"))
    for path in templates.glob("*.md.j2"):
        if path.name.removesuffix(".j2") not in {*pages.PARTS.values(), "inside.md"}:
            path.unlink()
    rate = 'local.named("postgres_direct/simple/hot/25t/20c").requests_per_second'
    text = f"# Page\n\n{{{{ {rate} | whole }}}}\n\n{{{{ picture() }}}}\n"
    (templates / "README.md.j2").write_text(text)
    return templates


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with the pages that have marked parts."""
    return repository(tmp_path / "repository")
