"""Mutated models that load_model accepts, through libxgboost: the server goes on, and no row differs.

Numbers, lengths and arrays of golden models are changed, as JSON, until as many as PGBOOST_TIMES asks for are
accepted. `extension/xgboost_ffi/tests/models.rs` does the same without a server, many times as fast.
"""

import copy
import json
import random
from typing import Any

import psycopg

from tests.connections import running_since
from tests.extension.e2e import golden
from tests.state import TIMES

ACCEPTED = 200 * TIMES
MAX_BYTES = 60_000
NUMBERS = [
    0,
    1,
    -1,
    2,
    3,
    5,
    31,
    32,
    64,
    255,
    65535,
    2**24 - 1,
    2**24,
    2**31 - 1,
    -(2**31),
    2**32 - 1,
]


def models() -> list[Any]:
    """Small models of every kind that the newest release has written."""
    names = golden.names("xgboost/3.4.1/*.json")
    names = [name for name in names if not name.endswith(golden.SUFFIX)]
    files = [golden.file(name) for name in names]
    return [json.loads(file) for file in files if len(file) < MAX_BYTES]


def places(value: Any) -> list[tuple[Any, Any]]:
    """Each value in a document: its container, and its key or index."""
    keys = value.items() if isinstance(value, dict) else enumerate(value)
    found = []
    for key, inner in keys:
        found.append((value, key))
        if isinstance(inner, (dict, list)):
            found += places(inner)
    return found


def mutate(document: Any, draw: random.Random) -> None:
    holder, key = draw.choice(places(document))
    value = holder[key]
    other = draw.choice(NUMBERS)
    if isinstance(value, list):
        change = draw.randrange(3)
        if change == 0:
            del value[draw.randrange(len(value) + 1) :]
        elif change == 1:
            value.append(copy.deepcopy(value[-1]) if value else other)
        else:
            value.reverse()
    elif isinstance(value, str):
        holder[key] = str(int(value) + draw.randrange(-2, 3) if value.isdigit() else other)
    elif isinstance(value, (int, float)):
        holder[key] = draw.choice([value + draw.randrange(-2, 3), other])


def test_the_server_survives(connection: psycopg.Connection) -> None:
    connection.execute("CREATE EXTENSION IF NOT EXISTS pgboost_train CASCADE")
    started = running_since(connection)
    draw = random.Random(1)
    originals, accepted, compared, tried = models(), 0, 0, 0
    while accepted < ACCEPTED:
        document = copy.deepcopy(draw.choice(originals))
        for _ in range(draw.randint(1, 3)):
            mutate(document, draw)
        tried += 1
        assert tried < 100 * ACCEPTED, "hardly any is accepted"
        if _accepted(connection, json.dumps(document).encode()):
            accepted += 1
            compared += _compared(connection)
        assert running_since(connection) == started
    print(f"{tried} files, {accepted} accepted, {compared} compared with libxgboost")
    assert compared > accepted / 2


def _accepted(connection: psycopg.Connection, file: bytes) -> bool:
    try:
        connection.execute(
            "SELECT drop_model('mutant') FROM pgboost_models WHERE name = 'mutant' LIMIT 1"
        )
        connection.execute(
            "SELECT load_model('mutant', %s, feature_names => "
            "(SELECT array_agg('f' || i) FROM generate_series(1, %s) AS i))",
            (file, _width(file)),
        )
    except psycopg.Error as error:
        assert error.sqlstate not in (None, "XX000"), error
        return False
    return True


def _width(file: bytes) -> int:
    try:
        return max(
            0, min(10_000, int(json.loads(file)["learner"]["learner_model_param"]["num_feature"]))
        )
    except (KeyError, TypeError, ValueError):
        return 1


def _compared(connection: psycopg.Connection) -> bool:
    """Returns whether libxgboost accepted it; then no row differs."""
    names = connection.execute("SELECT feature FROM model_features('mutant')").fetchall()
    columns = ", ".join(
        f'CASE WHEN (i + {at}) % 5 > 0 THEN (i * {at + 3}) % 7 END AS "{name}"'
        for at, (name,) in enumerate(names)
    )
    source = f"SELECT {columns} FROM generate_series(1, 20) AS i"
    row = "{" + ",".join(str(at % 5) for at in range(len(names))) + "}"
    try:
        connection.execute("SELECT xgboost_predict('mutant', %s)", (row,))
    except psycopg.Error as error:
        # Several outputs, or a refusal of libxgboost.
        assert error.sqlstate in ("38000", "42809"), error
    try:
        found = connection.execute("SELECT * FROM verify_model('mutant', %s)", (source,)).fetchone()
    except psycopg.Error as error:
        assert error.sqlstate in ("38000", "22P02", "42804", "54011", "54001"), error
        return False
    assert found == (20, 0, 0)
    return True
