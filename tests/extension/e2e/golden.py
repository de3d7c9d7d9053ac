"""The engine's golden models, which releases of XGBoost from 0.90 to the newest, and others, have written."""

import json
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

FOLDER = Path(__file__).resolve().parents[3] / "extension" / "gbtrees" / "tests" / "golden"
SUFFIX = ".expected.json"
SUFFIXES = (".ubj", ".json", ".bin", ".txt", ".cbm", ".onnx")


@cache
def library(name: str) -> dict[str, bytes]:
    """The files of a library's archive by their names, as `lightgbm/4.7.0/deep.txt`."""
    with tarfile.open(FOLDER / f"{name}.tar.xz") as archive:
        return {member.name: archive.extractfile(member).read() for member in archive}


def file(name: str) -> bytes:
    """The content of a file, by its name in the archive of its library."""
    return library(name.partition("/")[0])[name]


def record(name: str) -> Any:
    """The content of a file of JSON."""
    return json.loads(file(name))


def names(pattern: str) -> list[str]:
    """The files whose names fit, as `lightgbm/*/deep.txt`, sorted."""
    listed = map(PurePosixPath, library(pattern.partition("/")[0]))
    return [str(name) for name in sorted(listed) if name.match(pattern)]


def hex_rows(lines: list[str]) -> np.ndarray:
    """The floats of rows: a row is one string, a float the eight hex digits of its bits."""
    return (
        np.array([list(bytes.fromhex(line)) for line in lines], np.uint8).view(">f4").astype("f4")
    )


@dataclass(frozen=True)
class Case:
    """A model file, the rows and the margins of its library."""

    name: str
    content: bytes
    expected: dict[str, Any]

    def numbers(self, key: str) -> np.ndarray:
        """Rows of numbers by their hexadecimal bits, eight digits of a float32 and sixteen of a float64."""
        of_library = self.name.partition("/")[0]
        is_single = of_library == "xgboost" or (of_library == "catboost" and key == "rows")
        bits = bytes.fromhex("".join(self.expected[key]))
        found = np.frombuffer(bits, ">f4" if is_single else ">f8")
        return found.astype(found.dtype.newbyteorder("=")).reshape(len(self.expected[key]), -1)


def cases(of_library: str) -> Iterator[Case]:
    """The models with margins, none of whose features is a text."""
    for name in names(f"{of_library}/*/*{SUFFIX}"):
        expected = record(name)
        if not expected.get("margins") or expected.get("texts"):
            continue
        for suffix in SUFFIXES:
            model = name.removesuffix(SUFFIX) + suffix
            if model in library(of_library):
                yield Case(model, file(model), expected)
