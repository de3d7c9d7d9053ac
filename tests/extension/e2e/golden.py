"""The engine's golden models, which releases of XGBoost from 0.90 to the newest, and others, have written."""

import json
import tarfile
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

FOLDER = Path(__file__).resolve().parents[3] / "extension" / "gbtrees" / "tests" / "golden"
SUFFIX = ".expected.json"


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
