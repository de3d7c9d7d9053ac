"""The golden models of the engine: files of many releases with what their libraries predicted."""

import json
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).resolve().parents[2] / "extension" / "gbtrees" / "tests" / "golden"
SUFFIXES = (".ubj", ".json", ".bin", ".txt", ".cbm", ".onnx")


@dataclass(frozen=True)
class Case:
    """A model file, the rows and the margins of its library."""

    name: str
    content: bytes
    expected: dict[str, Any]

    def numbers(self, key: str) -> np.ndarray:
        """Rows of numbers by their hexadecimal bits, eight digits of a float32 and sixteen of a float64."""
        library = self.name.partition("/")[0]
        is_single = library == "xgboost" or (library == "catboost" and key == "rows")
        bits = bytes.fromhex("".join(self.expected[key]))
        found = np.frombuffer(bits, ">f4" if is_single else ">f8")
        return found.astype(found.dtype.newbyteorder("=")).reshape(len(self.expected[key]), -1)


@cache
def _files(library: str) -> dict[str, bytes]:
    with tarfile.open(FOLDER / f"{library}.tar.xz") as tar:
        return {member.name: tar.extractfile(member).read() for member in tar}  # type: ignore[union-attr]


def cases(library: str) -> Iterator[Case]:
    """The models with margins, none of whose features is a text."""
    files = _files(library)
    for name, content in files.items():
        stem = name[: -len(".expected.json")]
        if not name.endswith(".expected.json"):
            continue
        expected = json.loads(content)
        if not expected.get("margins") or expected.get("texts"):
            continue
        for suffix in SUFFIXES:
            if stem + suffix in files:
                yield Case(stem + suffix, files[stem + suffix], expected)


def model(name: str) -> bytes:
    """A golden file by its name."""
    return _files(name.partition("/")[0])[name]
