"""The microservice predicts as XGBoost does, and answers every bad request with a JSON message."""

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


@pytest.mark.parametrize("body", [b"", b"{", b"[1, 2", b"\xff\xfe", b"[14869, 2019, 8, 31"])
@pytest.mark.parametrize("path", ["/", "/batch"])
def test_invalid_json_is_refused(client: Client, path: str, body: bytes) -> None:
    answer = client.ask(path, body)
    assert answer.status == 400
    assert answer.error.startswith("the body is not JSON")


@pytest.mark.parametrize(
    "body",
    [
        None, 1, "14869", {}, {"key": HOT}, [], HOT[:3], [*HOT, 1], [str(part) for part in HOT],
        [float(part) for part in HOT], [True, 2019, 8, 31], [None, 2019, 8, 31], [HOT],
    ],
)  # fmt: skip
def test_an_invalid_key_is_refused(client: Client, body: object) -> None:
    answer = client.ask("/", body)
    assert answer.status == 400
    assert answer.error.startswith("a key is a list of 4 whole numbers")


@pytest.mark.parametrize("body", [None, {}, [], [HOT] * 10_001])
def test_an_invalid_batch_is_refused(client: Client, body: object) -> None:
    answer = client.ask("/batch", body)
    assert answer.status == 400
    assert answer.error == "a batch is a list of 1 to 10000 keys"


def test_a_batch_with_something_else_in_it_is_refused(client: Client) -> None:
    answer = client.ask("/batch", [HOT, 1])
    assert answer.status == 400
    assert answer.error.startswith("a key is a list of 4 whole numbers")


UNKNOWN = [1, 2019, 8, 31]


def test_an_unknown_key_is_not_found(client: Client) -> None:
    for answer in (client.ask("/", UNKNOWN), client.ask("/batch", [HOT, UNKNOWN])):
        assert answer.status == 404
        assert answer.error == "no flight has the key [1, 2019, 8, 31]"


def test_a_large_body_is_refused(client: Client) -> None:
    answer = client.ask("/", b"[" + b"1," * (1 << 20) + b"1]")
    assert answer.status == 413
    assert answer.error


def test_another_path_or_method_is_refused(client: Client) -> None:
    assert client.ask("/predict", HOT).status == 404
    assert client.ask("/", None, "GET").status == 405
    for answer in (client.ask("/predict", HOT), client.ask("/", None, "GET")):
        assert answer.error


def test_features_are_read_without_a_prediction(client: Client) -> None:
    year = HOT[NAMES.index("year")]
    assert FEATURES[0] == "year"
    assert client.ask("/features", HOT).json == year
    assert client.ask("/features", UNKNOWN).status == 404


def test_ping_answers_without_a_prediction(client: Client) -> None:
    answer = client.ask("/ping", None, "GET")
    assert (answer.status, answer.json) == (200, "pong")


def test_it_keeps_answering_after_refused_requests(client: Client) -> None:
    good = client.ask("/", HOT)
    assert good.status == 200
    client.ask("/", b"{")
    client.ask("/", UNKNOWN)
    assert client.ask("/", HOT) == good
