"""Each patch undoes a fix in the present sources and names a test that exists; run.sh sees the test fail."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PATCHES = sorted(Path(__file__).parent.glob("*.patch"))

# Of a crate's unit tests, and of those of the engine as its callers have it.
SOURCES = {"cargo": "src", "engine": "tests"}


@pytest.mark.parametrize("patch", PATCHES, ids=lambda patch: patch.stem)
def test_it_applies_and_its_test_exists(patch: Path) -> None:
    text = patch.read_text()
    subprocess.run(["git", "apply", "--check", "-p0", patch], cwd=ROOT, check=True)
    kind, where, name = re.search(
        r"^Test: (cargo|engine|pytest|citus|assertions) ([\w/.]+)(?: |::)([\w:]+)(?:\[\w+\])?$",
        text,
        re.MULTILINE,
    ).groups()
    if kind not in ("cargo", "engine"):
        assert f"def {name}(" in (ROOT / where).read_text()
    else:
        *modules, function = name.split("::")
        files = (ROOT / "extension" / where / SOURCES[kind]).rglob("*.rs")
        # The tests of a crate's root are in lib.rs.
        place = "lib" if modules == ["tests"] else modules[0]
        beside = {file for file in files if place in (*file.parts, file.stem)}
        assert any(f"fn {function}(" in file.read_text() for file in beside)
