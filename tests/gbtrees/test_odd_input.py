"""Damaged files and odd arguments of the wheel: the package's error, or a result, and no other exception.

`PGBOOST_TIMES` makes it as many times as long.
"""

import random
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import gbtrees
from tests.damage import changed
from tests.extension.e2e import golden
from tests.state import TIMES

DAMAGED = 500 * TIMES
ODD_CALLS = 2000 * TIMES


CALLS = (
    "predict", "margins", "predict_proba", "predict_class", "contributions", "leaves", "interactions",
)  # fmt: skip


class Array:
    """An object that calls itself an array."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        raise RuntimeError("no array")


class Number:
    def __float__(self) -> float:
        raise RuntimeError("no number")

    def __index__(self) -> int:
        raise RuntimeError("no index")


class Frame:
    """An object with the attributes of a frame."""

    iloc = columns = dtypes = None

    def __len__(self) -> int:
        raise RuntimeError("no length")


ODD: list[Any] = [
    None, True, 0, -1, 1, 2**31, 2**64, 10**400, 0.5, float("nan"), 1e300, "", "gain", "a" * 100, "\0",
    "\ud800", b"", b"\xff", object(), print, Array(), Number(), Frame(), Decimal("1.5"), Fraction(1, 3), 1j,
    [], [[]], [1, "a"], [[10**400] * 4], [["a"] * 4], {}, {"a": 1}, (), set(), range(4), np.float32(1),
    np.array(1.0), np.zeros((2, 2, 2)), np.zeros((3, 0)), np.zeros((0, 3)), np.zeros((2, 4), complex),
    np.zeros((2, 4), "M8[s]"), np.zeros((2, 4), "S3"), np.zeros((2, 4), "V3"), np.zeros((2, 4), object),
    np.full((2, 4), np.nan, np.float16), np.zeros((2, 4), np.longdouble),
    np.zeros(2, [("a", "f4"), ("b", "i8")]), np.array([[Number()] * 4], object),
    np.array([["\ud800"] * 4], object), pd.DataFrame(), pd.DataFrame({"a": [1], "b": [None]}),
    pd.DataFrame([[1.0] * 4], columns=["a", "a", "b", "c"]), pd.Series([1.0]),
    pd.DataFrame({"a": [Number()]}), pd.DataFrame({f"f{at}": pd.Categorical(["x"]) for at in range(4)}),
    sparse.csr_matrix((2, 4)), sparse.coo_matrix(np.eye(4)), sparse.csr_array(np.eye(4, dtype=complex)),
    sparse.csr_matrix((1, 2**33)), sparse.csr_array(np.eye(4, dtype=bool)),
]  # fmt: skip


@pytest.fixture(scope="module")
def files() -> list[bytes]:
    libraries = ("xgboost", "lightgbm", "catboost")
    found = [case.content for library in libraries for case in golden.cases(library)]
    return [content for content in found if len(content) < 60_000]


def test_damaged_files_are_refused_or_read(files: list[bytes]) -> None:
    draw, taken = random.Random(1), 0
    for _ in range(DAMAGED):
        try:
            model = gbtrees.Model(changed(draw.choice(files), draw))
        except gbtrees.GbtreesError as error:
            assert str(error)
            continue
        taken += 1
        rows = np.random.default_rng(1).normal(size=(3, model.num_features))
        for call in ("predict", "margins", "contributions", "leaves", "predict_class"):
            attempted(getattr(model, call), rows)
        attempted(model.to_sql, "m")
    print(f"{taken} of {DAMAGED} are read")
    assert 0 < taken < DAMAGED


def attempted(call: Any, *given: Any, **options: Any) -> None:
    try:
        call(*given, **options)
    except gbtrees.GbtreesError as error:
        assert str(error)


def test_odd_arguments_raise_one_class_of_error(files: list[bytes]) -> None:
    draw = random.Random(2)
    loaded = [gbtrees.Model(draw.choice(files)) for _ in range(20)]

    def odd(names: Any, share: float) -> dict[str, Any]:
        return {name: draw.choice(ODD) for name in names if draw.random() < share}

    for _ in range(ODD_CALLS):
        model = draw.choice(loaded)
        kind, one = draw.randrange(8), draw.choice(ODD)
        if kind == 0:
            options = odd(("rounds", "feature_names", "labels"), 0.5)
            attempted(gbtrees.Model, draw.choice((draw.choice(files), one)), **options)
        elif kind == 1:
            options = odd(("schema", "version", "unknown_category"), 0.3)
            attempted(model.to_sql, draw.choice(("m", one)), **options)
        elif kind == 2:
            attempted(model.importance, one)
        else:
            attempted(getattr(model, draw.choice(CALLS)), one, **odd(("n_jobs",), 0.1))
