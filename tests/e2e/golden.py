"""The engine's golden models, which releases of XGBoost from 0.90 to the newest have written."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).resolve().parents[2] / "extension" / "gbtrees" / "tests" / "golden"
SUFFIX = ".expected.json"


def hex_rows(lines: list[str]) -> np.ndarray:
    """The floats of rows: a row is one string, a float the eight hex digits of its bits."""
    return (
        np.array([list(bytes.fromhex(line)) for line in lines], np.uint8).view(">f4").astype("f4")
    )


@dataclass(frozen=True)
class Golden:
    """One model in one format, and what the newest XGBoost makes of its rows."""

    path: Path
    record: dict

    def table(self, key: str) -> np.ndarray:
        """`rows`, `margins` or `values`."""
        return hex_rows(self.record.get(key) or self.record["margins"])

    @property
    def is_linear(self) -> bool:
        """Whether it has coefficients in place of trees."""
        return self.path.name.startswith("gblinear") and "no_rounds" not in self.path.name

    @property
    def leaves(self) -> list[list[int]]:
        """Leaf ids by row and tree; empty for a model without trees."""
        return [[int(leaf) for leaf in line.split()] for line in self.record["leaves"]]


def release_folders() -> list[str]:
    """The releases that there are models of."""
    return sorted(path.name for path in FOLDER.iterdir() if path.name[0].isdigit())


def models(release: str) -> list[Golden]:
    """Every model of a release, in each format that it is there in."""
    found = []
    for expected in sorted((FOLDER / release).glob("*" + SUFFIX)):
        base = expected.name.removesuffix(SUFFIX)
        record = json.loads(expected.read_text(encoding="utf-8"))
        paths = [expected.with_name(base + suffix) for suffix in (".json", ".ubj", ".bin")]
        found += [Golden(path, record) for path in paths if path.exists()]
    return found


def refused() -> list[tuple[Path, str]]:
    """Files that must be refused, and the word that the refusal must contain."""
    listed = []
    for listing in sorted((FOLDER / "refused").glob("*.list.json")):
        named = json.loads(listing.read_text(encoding="utf-8"))
        listed += [(listing.with_name(file), word) for file, word in named.items()]
    return listed
