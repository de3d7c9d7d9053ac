"""Random jsonb objects as features: the value of the row form, or an error of a user's class."""

import json
import random
from typing import Any

import psycopg
import pytest

from tests.extension.lifecycle.models import grown, load
from tests.times import TIMES
from tools.cluster import Cluster

OBJECTS = 5000 * TIMES
FEATURES = [f"f{number + 1}" for number in range(10)]
# Numbers, texts that to_jsonb writes for them, and values that are no features.
NUMBERS = [0, -0.0, 1, -1, 0.5, 1e-45, 1e-320, 1e38, 3.5e38, -1e400, 1e400, 2**24 + 1, 2**70, 0.1]
SPECIAL = ["NaN", "Infinity", "-Infinity", None, True, False]
WRONG = ["", "1", "nan", "text", "\x01", "é" * 50, [], [1], {}, {"f1": 1}, [[[]]]]


@pytest.fixture(scope="module", autouse=True)
def model(cluster: Cluster, dbname: str) -> None:
    """A model of ten features."""
    with cluster.connect(dbname) as connection:
        load(connection, "m", grown(20, 5))


def random_value(generator: random.Random, wrong: float) -> Any:
    kind = generator.random()
    if kind < wrong:
        return generator.choice(WRONG)
    return generator.choice(NUMBERS + SPECIAL) if kind < 0.6 else generator.uniform(-2, 2)


def text_of(content: dict[str, Any]) -> str:
    """JSON with numbers of any size: Python writes 1e400 as Infinity, which is none."""
    return json.dumps(content).replace("-Infinity,", "-1e400,").replace(": Infinity,", ": 1e400,")


def random_object(generator: random.Random) -> str:
    """An object that is valid in two of three cases."""
    odd = generator.random() < 0.33
    names = [name for name in FEATURES if not odd or generator.random() < 0.97]
    generator.shuffle(names)
    values = {name: random_value(generator, 0.03 if odd else 0.0) for name in names}
    if odd and generator.random() < 0.3:
        values |= {"": 1, "other": [1, {"f1": 2}], "F1": 3, "f1 ": 4}
    return text_of(values | {"last": 0})


def answer(connection: psycopg.Connection, query: str, content: str) -> Any:
    try:
        return connection.execute(query, (content,)).fetchone()
    except psycopg.Error as error:
        assert error.sqlstate is not None and error.sqlstate[:2] in ("22", "42", "54"), content
        return error.sqlstate


@pytest.mark.usefixtures("internal_errors")
def test_objects_and_rows_are_the_same(connection: psycopg.Connection) -> None:
    generator, compared = random.Random(TIMES), 0
    columns = ", ".join(f"{name} text" for name in FEATURES)
    numbers = ", ".join(f"{name}::numeric::double precision AS {name}" for name in FEATURES)
    # The row form of the same values; booleans are 1 and 0 there, too.
    row = (
        f"SELECT predict('m', r) FROM (SELECT {numbers} FROM jsonb_to_record(replace(replace(%s,"
        f"'true', '1'), 'false', '0')::jsonb) AS x ({columns})) AS r"
    )
    for _ in range(OBJECTS):
        content = random_object(generator)
        by_object = answer(connection, "SELECT predict('m', %s::text::jsonb)", content)
        if not isinstance(by_object, str):
            by_row = answer(connection, row, content)
            assert by_row in (by_object, "22003"), content
            compared += by_row == by_object
    assert compared > OBJECTS // 4
