"""The service predicts with the XGBoost that its settings name, and equally with both."""

import subprocess
import sys
from pathlib import Path

import pytest
import xgboost

from bench import processes
from data.columns import FEATURES
from python_baseline import releases
from python_baseline.modes import ROOT
from tests.bench.baseline.conftest import StartService
from tests.bench.baseline.test_service import HOT, first_of_each_key


def version(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs Python in a separate process, because a process has only one XGBoost; returns its output."""
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=ROOT, capture_output=True, text=True,
        check=False,
    )  # fmt: skip


def test_the_pinned_release_is_the_newer() -> None:
    code = "import sys; from python_baseline import releases; print(releases.load(sys.argv[1]).__version__)"
    pinned, installed = (version(code, name).stdout.strip() for name in ("pinned", "installed"))
    assert installed == xgboost.__version__
    numbers = [tuple(map(int, text.split("."))) for text in (pinned, installed)]
    assert numbers[0] >= (3, 4) > numbers[1]


def test_a_second_release_in_a_process_is_refused() -> None:
    code = "import xgboost; from python_baseline import releases; releases.load('pinned')"
    assert "has been imported before" in version(code).stderr


@pytest.mark.parametrize("mode", ["published_one_thread", "tuned"])
@pytest.mark.parametrize("release", releases.NAMES)
def test_each_release_predicts_the_same(
    start_service: StartService, model: Path, mode: str, release: str
) -> None:
    client = start_service(mode, xgboost=release)
    keys, rows = first_of_each_key(200)
    booster = xgboost.Booster(model_file=model)
    expected = booster.predict(xgboost.DMatrix(rows, feature_names=FEATURES)).tolist()
    assert client.ask("/batch", keys).json == expected
    assert client.ask("/", HOT).json == expected[keys.index(HOT)]
    maps = [
        Path("/proc", str(pid), "maps").read_text() for pid in processes.tree([client.service.pid])
    ]
    mapped = [str(releases.UNPACKED / "xgboost") in text for text in maps if "libxgboost" in text]
    assert mapped
    assert {*mapped} == {release == "pinned"}
