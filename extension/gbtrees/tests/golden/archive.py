#!/usr/bin/env python3
"""Adds golden models to their libraries' archives, and removes them.

    archive.py add [FILE or FOLDER...]
    archive.py remove PATTERN...

`add` takes files that lie under LIBRARY/, where the scripts write them, into LIBRARY.tar.xz and deletes them;
without a name, all that there are. An archive's file of the same name is replaced. `remove` takes names and
patterns such as 'lightgbm/4.*/deep.*'. README.md says how archives are listed and extracted.

The same files give the same bytes: names are sorted, and nothing of a file is kept but its content. Content
that several names have is stored once, under the first of them, and the others are links to it.
"""

import argparse
import fnmatch
import io
import lzma
import tarfile
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
LIBRARIES = ("catboost", "lightgbm", "onnx", "xgboost")
# Files that describe or make models.
SOURCES = {".py", ".pyc", ".sh", ".md"}
# The window exceeds an archive's content, so that releases share what their models have in common.
COMPRESSION = lzma.PRESET_EXTREME | 7


def read(library: str) -> dict[str, bytes]:
    """Returns the content of every file of a library by name."""
    archive = FOLDER / f"{library}.tar.xz"
    if not archive.exists():
        return {}
    with tarfile.open(archive) as tar:
        return {member.name: tar.extractfile(member).read() for member in tar}


def packed(files: dict[str, bytes]) -> bytes:
    """Returns the uncompressed tar file."""
    first: dict[bytes, str] = {}
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w", format=tarfile.USTAR_FORMAT) as writer:
        for name, content in sorted(files.items()):
            member = tarfile.TarInfo(name)
            if (same := first.setdefault(content, name)) == name:
                member.size = len(content)
            else:
                member.type, member.linkname = tarfile.LNKTYPE, same
            writer.addfile(member, io.BytesIO(content))
    return tar.getvalue()


def write(library: str, files: dict[str, bytes]) -> None:
    """Writes a library's archive."""
    archive = FOLDER / f"{library}.tar.xz"
    archive.write_bytes(lzma.compress(packed(files), preset=COMPRESSION))
    print(f"{archive.name}: {len(files)} files, {archive.stat().st_size:,} bytes")


def models(path: Path) -> list[Path]:
    """Returns the file, or the models and answers of a folder."""
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    return [file for file in files if file.is_file() and file.suffix not in SOURCES]


def add(paths: list[Path]) -> None:
    """Adds the files to their archives."""
    found: dict[str, list[Path]] = {}
    for path in paths or [FOLDER / library for library in LIBRARIES]:
        for file in models(path.resolve(strict=True)):
            found.setdefault(file.relative_to(FOLDER).parts[0], []).append(file)
    if unknown := found.keys() - set(LIBRARIES):
        raise SystemExit(f"no library: {', '.join(sorted(unknown))}")
    for library, files in found.items():
        names = {str(file.relative_to(FOLDER)): file.read_bytes() for file in files}
        write(library, read(library) | names)
        for file in files:
            file.unlink()
            if not any(file.parent.iterdir()):
                file.parent.rmdir()


def remove(patterns: list[str]) -> None:
    """Removes files matching the patterns from their archives."""
    for library in LIBRARIES:
        files = read(library)
        gone = {name for pattern in patterns for name in fnmatch.filter(files, pattern)}
        if gone:
            write(library, {name: files[name] for name in files if name not in gone})


def main() -> None:
    """Runs the command."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("add").add_argument("path", nargs="*", type=Path)
    commands.add_parser("remove").add_argument("pattern", nargs="+")
    arguments = parser.parse_args()
    if arguments.command == "add":
        add(arguments.path)
    else:
        remove(arguments.pattern)


if __name__ == "__main__":
    main()
