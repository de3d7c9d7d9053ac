"""The microservice predicts as XGBoost does."""

from pathlib import Path

import numpy as np
import pytest
import xgboost

from data.columns import FEATURES
from data.flights import Request, blocks
from python_baseline.keys import INDICES, NAMES
from tests.bench.baseline.conftest import ROWS, Client

HOT = [14869, 2019, 8, 31]


def first_of_each_key(count: int) -> tuple[list[list[int]], np.ndarray]:
    """Keys and, for each, the features of the first flight that has it."""
    found: dict[tuple[int, ...], np.ndarray] = {}
    for block in blocks(Request(ROWS)):
        for row in block:
            found.setdefault(tuple(row[[*INDICES]].tolist()), row[1:])
    keys = [*found][:count]
    return [[*key] for key in keys], np.array([found[key] for key in keys], dtype=np.float32)


@pytest.fixture
def expected(model: Path) -> tuple[list[list[int]], list[float]]:
    keys, rows = first_of_each_key(200)
    booster = xgboost.Booster(model_file=model)
    return keys, booster.predict(xgboost.DMatrix(rows, feature_names=FEATURES)).tolist()


def test_each_prediction_equals_xgboosts(
    client: Client, expected: tuple[list[list[int]], list[float]]
) -> None:
    keys, values = expected
    assert len(set(values)) > 50
    assert [client.ask("/", key).json for key in keys[:50]] == values[:50]
    assert client.ask("/batch", keys).json == values


def test_the_first_of_several_flights_is_predicted_for(client: Client, model: Path) -> None:
    """PostgreSQL's LIMIT 1 by its index finds the same; a lost order of loading would show here."""
    flights = np.concatenate([*blocks(Request(ROWS))])
    keys, counts = np.unique(flights[:, INDICES], axis=0, return_counts=True)
    booster = xgboost.Booster(model_file=model)
    told_apart = 0
    for key in keys[counts > 1]:
        rows = flights[(flights[:, INDICES] == key).all(axis=1)][:, 1:].astype(np.float32)
        predicted = booster.predict(xgboost.DMatrix(rows, feature_names=FEATURES)).tolist()
        assert client.ask("/", key.tolist()).json == predicted[0]
        told_apart += predicted[0] != predicted[-1]
    assert told_apart > 0


@pytest.mark.parametrize(
    ("path", "body", "method", "status"),
    [
        ("/", b"[" + b"1," * (1 << 20) + b"1]", "POST", 413),
        ("/predict", HOT, "POST", 404),
        ("/", None, "GET", 405),
        ("/features", [1, 2019, 8, 31], "POST", 404),
    ],
)
def test_an_invalid_request_is_refused(
    client: Client, path: str, body: object, method: str, status: int
) -> None:
    answer = client.ask(path, body, method)
    assert answer.status == status
    assert answer.error


def test_features_and_ping_are_answered_without_a_prediction(client: Client) -> None:
    assert FEATURES[0] == "year"
    assert client.ask("/features", HOT).json == HOT[NAMES.index("year")]
    answer = client.ask("/ping", None, "GET")
    assert (answer.status, answer.json) == (200, "pong")
