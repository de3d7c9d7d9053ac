"""What fails is left out and named, answers that differ end the run, and a record is whole or apart."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from bench import record
from bench.attempts import Attempts
from bench.generators.caller import Different, compared
from bench.ladder.stage import Stage
from bench.turns import in_turn


def raising(error: Exception) -> None:
    raise error


def test_what_fails_is_named_and_not_tried_again() -> None:
    attempts, made = Attempts(10), []
    assert attempts.make("one", lambda: 1) == 1
    assert attempts.make("two", lambda: raising(ValueError("a\n  reason"))) is None
    assert attempts.make("two", lambda: made.append(2)) is None
    assert attempts.make("three", lambda: 3) == 3
    assert attempts.failed == {"two": "ValueError: a reason"} and not made


def test_answers_that_differ_end_the_run() -> None:
    assert compared('{"compared":2207}') == 2207
    with pytest.raises(Different, match="row 3"):
        Attempts(10).make("one", lambda: compared('{"different":"row 3: 1, not 2"}'))


def test_what_is_left_follows_the_pace_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter((0.0, 120.0, 120.0))
    monkeypatch.setattr("bench.attempts.time", SimpleNamespace(monotonic=lambda: next(now)))
    attempts = Attempts(300)
    attempts.make("one", lambda: None, planned=60)
    assert attempts.left() == "8 min"
    attempts.make("rest", lambda: None, planned=240)
    assert attempts.left() == "under a minute"


def test_a_record_that_is_not_whole_lies_beside_its_place(tmp_path: Path) -> None:
    path = tmp_path / "ladder.json"
    record.write(path, {"sets": {}}, whole=False)
    assert not path.exists()
    record.write(path, {"sets": {"titanic": 1}})
    assert json.loads(path.read_text()) == {"sets": {"titanic": 1}}
    assert [one.name for one in tmp_path.iterdir()] == ["ladder.json"]


def test_a_stage_keeps_a_record_as_it_grows(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("bench.ladder.crosscheck.versions", lambda host, database: {"go": "1.26"})
    attempts, stage = Attempts(10), Stage(None, None, tmp_path / "fresh.json")
    stage.begin(attempts, False, runs=[])
    attempts.make("two", lambda: raising(ValueError("a reason")))
    stage.keep(runs=[1])
    part = json.loads((tmp_path / "fresh.part").read_text())
    assert part["failed"] == {"two": "ValueError: a reason"} and part["finished"] is None
    stage.finish()
    assert json.loads((tmp_path / "fresh.json").read_text())["finished"]


def test_each_repetition_is_told() -> None:
    told = []
    in_turn({"a": lambda: 1}, 2, warm_ups=1, after=lambda values: told.append(len(values["a"])))
    assert told == [0, 1, 2]
