"""The SQL scripts: one per extension, installed under its version's name, with each function of the library.

pgrx writes no SQL for these extensions (each function says `sql = false`), so what its macros declare
is the function's symbol and its pg_finfo_ record. A script that names a symbol that the library
does not have fails in CREATE EXTENSION; a function that no script names is found here.
"""

import json
import re
import subprocess

import pytest

from tests.extension.packaging.releases import EXTENSION, NAMES, present_version, script
from tools.cluster.server import installed

ROOT = EXTENSION.parent


@pytest.mark.parametrize("name", NAMES)
def test_the_control_file_has_the_version_of_the_crates(name: str) -> None:
    control = (EXTENSION / name / f"{name}.control").read_text()
    assert f"default_version = '{present_version()}'" in control


@pytest.mark.parametrize(
    ("file", "pattern"),
    [
        ("META.json", r'^  "version": "(.*)"'),
        ("packaging/deb/debian/changelog", r"^pgboost \((.*)-\d+\)"),
    ],
)
def test_packages_are_of_the_present_version(file: str, pattern: str) -> None:
    assert re.search(pattern, (ROOT / file).read_text(), re.MULTILINE)[1] == present_version()


def test_the_present_scripts_are_declared_to_pgxn() -> None:
    provided = json.loads((ROOT / "META.json").read_text())["provides"]
    assert set(provided) == {path.stem for path in EXTENSION.glob("*/*.control")}
    for name, what in provided.items():
        assert ROOT / what["file"] == script(name)
        assert (ROOT / what["docfile"]).exists()
        assert what["version"] == present_version()


@pytest.mark.parametrize("name", NAMES)
def test_each_function_of_the_library_is_declared(name: str) -> None:
    library = installed("--pkglibdir") / f"{name}.so"
    listed = subprocess.run(
        ["nm", "--dynamic", "--defined-only", library], capture_output=True, text=True, check=True
    )
    functions = set(re.findall(r" pg_finfo_(\w+)$", listed.stdout, re.MULTILINE))
    scripts = "".join(path.read_text() for path in (EXTENSION / name).glob("*.sql"))
    declared = re.findall(r"AS 'MODULE_PATHNAME', '(\w+)'", scripts)
    assert functions == set(declared)


@pytest.mark.parametrize("name", NAMES)
def test_the_installed_script_is_the_repositorys(name: str) -> None:
    path = installed("--sharedir") / "extension" / f"{name}--{present_version()}.sql"
    assert path.read_bytes() == script(name).read_bytes()
