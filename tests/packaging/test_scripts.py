"""The SQL scripts: one per release, released ones frozen, and each function of the libraries declared.

pgrx writes no SQL for these extensions (each function says `sql = false`), so what its macros declare
is the function's symbol and its pg_finfo_ record. A script that names a symbol that the library lacks
fails in CREATE EXTENSION; a function that no script names is found here.
"""

import hashlib
import json
import re
import subprocess
from pathlib import Path

import pytest

from cluster.server import installed
from tests.packaging.releases import EXTENSION, NAMES, RELEASES, present_version, script

ROOT = EXTENSION.parent
RELEASED = {
    "pgboost--0.1.0.sql": "fb5cb12eefb325f3e82a045193ea866cd9bde83652d3e60de7e287b057a0d9e1",
    "pgboost_train--0.1.0.sql": "e9eca45e6528c353c6b4d8a5a431d93ae934911b6282deb5126af5a15def1401",
}


def present_script(name: str) -> Path:
    return script(name, present_version())


@pytest.mark.parametrize("name", NAMES)
def test_the_control_file_has_the_version_of_the_crates(name: str) -> None:
    control = (EXTENSION / name / f"{name}.control").read_text()
    assert f"default_version = '{present_version()}'" in control
    assert present_script(name).exists()


@pytest.mark.parametrize(
    ("file", "pattern"),
    [
        ("META.json", r'^  "version": "(.*)"'),
        ("debian/changelog", r"^pgboost \((.*)-\d+\)"),
        ("packaging/cnpg/Dockerfile", r'sql\.version="(.*)"'),
        ("packaging/cnpg/cluster.yaml", r'version: "(.*)"'),
    ],
)
def test_packages_are_of_the_present_version(file: str, pattern: str) -> None:
    assert re.search(pattern, (ROOT / file).read_text(), re.MULTILINE)[1] == present_version()


def test_pgxn_is_told_of_the_present_scripts() -> None:
    provided = json.loads((ROOT / "META.json").read_text())["provides"]
    assert set(provided) == {path.stem for path in EXTENSION.glob("*/*.control")}
    for name, what in provided.items():
        assert ROOT / what["file"] == present_script(name)
        assert (ROOT / what["docfile"]).exists()
        assert what["version"] == present_version()


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("name", NAMES)
def test_a_released_script_never_changes(name: str, release: str) -> None:
    path = script(name, release)
    assert hashlib.sha256(path.read_bytes()).hexdigest() == RELEASED[path.name]


@pytest.mark.parametrize("name", NAMES)
def test_each_function_of_the_library_is_declared(name: str) -> None:
    library = installed("--pkglibdir") / f"{name}.so"
    listed = subprocess.run(
        ["nm", "--dynamic", "--defined-only", library], capture_output=True, text=True, check=True
    )
    functions = set(re.findall(r" pg_finfo_(\w+)$", listed.stdout, re.MULTILINE))
    declared = re.findall(r"AS 'MODULE_PATHNAME', '(\w+)'", present_script(name).read_text())
    assert functions == set(declared)


@pytest.mark.parametrize("name", NAMES)
def test_the_installed_scripts_are_those_of_the_repository(name: str) -> None:
    scripts = installed("--sharedir") / "extension"
    for path in (EXTENSION / name).glob(f"{name}--*.sql"):
        assert (scripts / path.name).read_bytes() == path.read_bytes()
