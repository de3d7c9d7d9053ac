"""The scripts of profile-guided optimisation where something they need is missing or does not fit."""

import os
import subprocess
from pathlib import Path

import pytest

from pgo.server import ROOT, copy_installation

TOOLCHAIN = ROOT / "toolchain"
RUSTC = """#!/bin/sh
if [ "$1" = -vV ]; then echo "LLVM version: 99.1.0"; else exec rustc "$@"; fi
"""


def run(*command: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """What a script of toolchain/ says."""
    name, *rest = command
    return subprocess.run(
        [TOOLCHAIN / name, *rest],
        env=os.environ | variables, capture_output=True, text=True, check=False,
    )  # fmt: skip


def executable(path: Path, text: str) -> str:
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


def without_apt(directory: Path) -> str:
    """A PATH of the programs there are, less Debian's installer."""
    directory.mkdir()
    for place in reversed(os.environ["PATH"].split(os.pathsep)):
        for program in Path(place).glob("*"):
            (directory / program.name).unlink(missing_ok=True)
            (directory / program.name).symlink_to(program)
    (directory / "apt-get").unlink(missing_ok=True)
    return str(directory)


@pytest.mark.parametrize("says", ["Debian LLVM version 14.0.6", "no version at all"])
def test_a_tool_of_another_version_is_refused(tmp_path: Path, says: str) -> None:
    tool = executable(tmp_path / "llvm-profdata", f"#!/bin/sh\necho '{says}'\n")
    done = run("llvm_profdata.sh", LLVM_PROFDATA=tool)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"error: LLVM_PROFDATA, {tool}, is not of LLVM ")


def test_a_tool_that_fits_the_compiler_is_taken(tmp_path: Path) -> None:
    tool = executable(tmp_path / "llvm-profdata", "#!/bin/sh\necho 'LLVM version 99.0.0'\n")
    compiler = executable(tmp_path / "rustc", RUSTC)
    done = run("llvm_profdata.sh", LLVM_PROFDATA=tool, RUSTC=compiler)
    assert (done.returncode, done.stdout) == (0, f"{tool}\n")


def test_where_none_fits_and_none_can_be_installed_it_names_the_package(tmp_path: Path) -> None:
    compiler = executable(tmp_path / "compiler", RUSTC)
    path = without_apt(tmp_path / "bin")
    done = run("llvm_profdata.sh", RUSTC=compiler, PATH=path, LLVM_PROFDATA="")
    assert (done.returncode, done.stdout) == (1, "")
    assert "missing, by the names of Debian's packages: llvm-99" in done.stderr


def test_profiles_that_no_backend_wrote_are_missed(tmp_path: Path) -> None:
    (tmp_path / "empty.profraw").touch()
    done = run("profiled.sh", "merge", tmp_path, tmp_path / "merged.profdata")
    assert done.returncode == 1
    assert done.stderr.startswith(f"error: no profile was written into {tmp_path}")


def test_a_copied_installation_uses_its_own_files(tmp_path: Path) -> None:
    pg_config = copy_installation(tmp_path)
    for option in ("--bindir", "--pkglibdir", "--sharedir"):
        done = subprocess.run([pg_config, option], capture_output=True, text=True, check=True)
        assert Path(done.stdout.strip()).is_relative_to(tmp_path)
        assert Path(done.stdout.strip()).is_dir()
