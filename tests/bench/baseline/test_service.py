"""The microservice predicts as XGBoost does, by the pinned library, and refuses what it cannot answer."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import xgboost

from bench import processes
from data.columns import FEATURES
from data.flights import Request, blocks
from python_baseline import releases
from python_baseline.keys import INDICES, NAMES
from python_baseline.modes import ROOT
from tests.bench.baseline.conftest import ROWS, Client

HOT = [14869, 2019, 8, 31]


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


def test_the_library_is_the_pinned_one_which_is_newer(client: Client) -> None:
    assert client.ask("/", HOT).status == 200
    tree = processes.tree([client.service.pid])
    maps = [Path("/proc", str(pid), "maps").read_text() for pid in tree]
    libraries = [text for text in maps if "libxgboost" in text]
    assert libraries and all(str(releases.UNPACKED / "xgboost") in text for text in libraries)
    code = "from python_baseline import releases; print(releases.load().__version__)"
    # A process has one XGBoost.
    alone, second = (
        subprocess.run([sys.executable, "-c", one], cwd=ROOT, capture_output=True, text=True, check=False)
        for one in (code, f"import xgboost; {code}")
    )  # fmt: skip
    newer, older = (tuple(map(int, one.split("."))) for one in (alone.stdout, xgboost.__version__))
    assert newer >= (3, 4) > older
    assert "has been imported before" in second.stderr
