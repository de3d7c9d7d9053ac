"""A numeric becomes the real nearest to its double, as in Python, however many digits it has.

A model with a leaf for every small interval tells one real from the next, so whatever a
numeric was rounded to shows in the prediction. PostgreSQL's own casts are the measure.
"""

import random
from decimal import Context, Decimal, localcontext

import numpy as np
import psycopg
import pytest
import xgboost as xgb

from tests.extension.e2e.reference import model_bytes


def thresholds(count: int) -> list[np.float32]:
    """Reals of many sizes, in ascending order."""
    draw = random.Random(15)
    drawn = {np.float32(draw.uniform(1, 10) * 10.0 ** draw.randint(-6, 12)) for _ in range(count)}
    return sorted(drawn | {np.float32(1 << 24), np.float32(0.1), np.float32(123456.79)})


def near(threshold: np.float32) -> list[Decimal]:
    """A real, the one below, and numbers at and around the middle between them."""
    below = np.nextafter(threshold, np.float32(0))
    with localcontext(Context(prec=120)):
        middle = (Decimal(float(threshold)) + Decimal(float(below))) / 2
        found = [Decimal(float(threshold)), Decimal(float(below)), middle]
        for significant in (7, 9, 15, 17, 25):
            step = Decimal(1).scaleb(middle.adjusted() - significant + 1)
            rounded = middle.quantize(step)
            found += [rounded - step, rounded, rounded + step]
    return found


@pytest.fixture
def staircase(connection: psycopg.Connection) -> list[np.float32]:
    """The thresholds of a model that is a staircase, loaded under that name."""
    steps = thresholds(200)
    below = [np.nextafter(step, np.float32(0)) for step in steps]
    positive = np.array([*below, *steps], dtype=np.float32)
    values = np.sort(np.concatenate([positive, -positive]))
    data = xgb.DMatrix(values[:, None], np.arange(len(values), dtype=np.float32))
    parameters = {"tree_method": "exact", "max_depth": 12, "min_child_weight": 0, "lambda": 0}
    booster = xgb.train(parameters, data, num_boost_round=1)
    assert len(set(booster.predict(data))) > len(steps)
    connection.execute("SELECT load_model('staircase', %s)", (model_bytes(booster),))
    return steps


def test_numerics_are_rounded_by_way_of_the_double(
    connection: psycopg.Connection, staircase: list[np.float32]
) -> None:
    numbers = [sign * number for step in staircase for number in near(step) for sign in (1, -1)]
    wrong = connection.execute(
        "SELECT n, predict('staircase', n), predict('staircase', n::float8::real)"
        " FROM unnest(%s::numeric[]) AS n"
        " WHERE predict('staircase', n) IS DISTINCT FROM predict('staircase', n::float8::real)"
        " OR predict('staircase', ARRAY[n]) IS DISTINCT FROM predict('staircase', n::float8::real)",
        (numbers,),
    ).fetchall()
    assert wrong == []


def test_numerics_that_no_real_holds(
    connection: psycopg.Connection, staircase: list[np.float32]
) -> None:
    """Numerics beyond real's range become infinities, where PostgreSQL's cast raises."""
    query = "SELECT predict('staircase', %s::numeric), predict('staircase', %s::real)"
    for number, real in (
        ("1e39", "Infinity"),
        ("-1e39", "-Infinity"),
        ("Infinity", "Infinity"),
        ("1e-60", "0"),
        ("NaN", "NaN"),
        ("0", "0"),
        ("-0.000", "0"),
    ):
        given, expected = connection.execute(query, (number, real)).fetchone()
        assert given == expected, number
