"""The archives of golden models are reproduced by the script that packs their files."""

import lzma
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tests.extension.e2e import golden

NEW = "lightgbm/9.9.9/new.txt"
SCRIPT = "archive.py"


def run(folder: Path, *arguments: str) -> None:
    subprocess.run([sys.executable, folder / SCRIPT, *arguments], check=True)


def content(archive: Path) -> bytes:
    return lzma.decompress(archive.read_bytes())


@pytest.mark.parametrize("name", ["catboost", "lightgbm", "onnx", "xgboost"])
def test_names_are_sorted_and_content_is_stored_once(name: str) -> None:
    with tarfile.open(golden.FOLDER / f"{name}.tar.xz") as archive:
        members = archive.getmembers()
    names = [member.name for member in members]
    assert names == sorted(set(names))
    assert all(part.startswith(f"{name}/") for part in names)
    assert {(member.mtime, member.uid, member.mode) for member in members} == {(0, 0, 0o644)}
    stored = [golden.file(member.name) for member in members if member.isreg()]
    assert len(stored) == len(set(stored))
    assert all(member.isreg() or member.islnk() for member in members)


def test_a_model_is_added_and_removed(tmp_path: Path) -> None:
    archive = tmp_path / "lightgbm.tar.xz"
    for file in (SCRIPT, archive.name):
        shutil.copy(golden.FOLDER / file, tmp_path)
    before = content(archive)
    for file in (NEW, "lightgbm/train.py"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text("tree\n")
    run(tmp_path, "add", str(tmp_path / "lightgbm"))
    left = [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()]
    assert sorted(left) == [SCRIPT, archive.name, "lightgbm/train.py"]
    with tarfile.open(archive) as tar:
        assert tar.extractfile(NEW).read() == b"tree\n"
        assert len(tar.getnames()) == len(golden.library("lightgbm")) + 1
    run(tmp_path, "remove", "lightgbm/9.9.9/*")
    assert content(archive) == before
