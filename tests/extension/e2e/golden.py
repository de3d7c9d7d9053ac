"""The engine's golden models, which releases of XGBoost from 0.90 to the newest, and others, have written."""

import json
import tarfile
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Golden:
    """One model in one format, with the predictions of the newest XGBoost for its rows."""

    path: PurePosixPath
    record: dict

    @property
    def content(self) -> bytes:
        """The model's file."""
        return file(str(self.path))

    def table(self, key: str) -> np.ndarray:
        """`rows`, `margins` or `values`."""
        return hex_rows(self.record.get(key) or self.record["margins"])

    @property
    def is_linear(self) -> bool:
        """True for coefficients in place of trees."""
        return self.path.name.startswith("gblinear") and "no_rounds" not in self.path.name

    @property
    def leaves(self) -> list[list[int]]:
        """Leaf ids by row and tree; empty for a model without trees."""
        return [[int(leaf) for leaf in line.split()] for line in self.record["leaves"]]


def release_folders() -> list[str]:
    """The releases with golden models."""
    folders = {PurePosixPath(name).parent.name for name in library("xgboost")}
    return sorted(folder for folder in folders if folder[0].isdigit())


def models(release: str) -> list[Golden]:
    """Every model of a release in each of its formats."""
    found = []
    for expected in names(f"xgboost/{release}/*{SUFFIX}"):
        base = expected.removesuffix(SUFFIX)
        files = [base + suffix for suffix in (".json", ".ubj", ".bin")]
        found += [
            Golden(PurePosixPath(name), record(expected))
            for name in files
            if name in library("xgboost")
        ]
    return found


def refused() -> list[tuple[str, str]]:
    """Files that must be refused, and the word that the refusal must contain."""
    return [
        (f"xgboost/refused/{name}", word)
        for listing in names("xgboost/refused/*.list.json")
        for name, word in record(listing).items()
    ]
