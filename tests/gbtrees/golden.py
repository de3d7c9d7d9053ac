"""The golden models of the engine: files of many releases with what their libraries predicted."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.extension.e2e.golden import SUFFIX, file, library, names, record

SUFFIXES = (".ubj", ".json", ".bin", ".txt", ".cbm", ".onnx")


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
