"""One answer that differs by one bit stops a run before anything is timed."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench.answers import Answers, Unequal, compare, expected, single_precision
from bench.generators import Figures, Load
from bench.harness import Harness
from bench.hosts import ROOT, Usage
from bench.processes import Used
from bench.results import Loading, Run
from bench.site import Site
from bench.topology import on_this_machine
from bench.workload import WORKLOADS, Cell, Set
from tests.bench.made_up import description, put_in_place

KEYS = [(1, 2019, 8, day) for day in range(1, 5)]
USAGE = Usage(1.0, Used(1.0, 1), {"recorded": Used(1.0, 1)}, Used(1.0, 1), None)
WANTED = np.array([1.5, -0.0, 0.1, 1e-40], dtype=np.float32)


def one_bit_off(answers: Answers, place: int) -> Answers:
    bits = answers.copy().view(np.uint32)
    bits[place] ^= 1
    return bits.view(np.float32)


def test_equal_answers_are_counted() -> None:
    checked = compare(25, KEYS, WANTED, {"all": WANTED.copy(), "some": WANTED[:2]})
    assert checked.compared == {"all": 4, "some": 2}
    assert (checked.trees, checked.keys) == (25, 4)


@pytest.mark.parametrize("place", range(len(KEYS)))
def test_one_bit_is_a_difference(place: int) -> None:
    given = {"good": WANTED, "bad": one_bit_off(WANTED, place)}
    with pytest.raises(Unequal, match="bad: 1 of 4 answers differ") as raised:
        compare(25, KEYS, WANTED, given)
    assert str([*KEYS[place]]) in str(raised.value)


def test_answers_of_several_models_are_compared_column_by_column() -> None:
    wanted = np.stack([WANTED, WANTED + 1, WANTED + 2], axis=1)
    good = {"one": WANTED, "several": wanted[:3]}
    assert compare(25, KEYS, wanted, good).compared == {"one": 4, "several": 3}
    swapped = wanted[:, [0, 2, 1]]
    with pytest.raises(Unequal, match="swapped: 4 of 4 answers differ"):
        compare(25, KEYS, wanted, good | {"swapped": swapped})


def test_zero_and_minus_zero_differ() -> None:
    with pytest.raises(Unequal):
        compare(25, KEYS, WANTED, {"zero": np.abs(WANTED)})


def test_missing_or_extra_answers_are_unequal() -> None:
    for answers in (WANTED[:0], np.concatenate([WANTED, WANTED])):
        with pytest.raises(Unequal, match="answers to 4 keys"):
            compare(25, KEYS, WANTED, {"one": answers})


def test_a_number_of_more_than_32_bits_is_no_answer() -> None:
    assert single_precision([float(np.float32(0.1))]) == np.float32(0.1)
    with pytest.raises(Unequal, match="32 bits"):
        single_precision([0.1])


class Recorded:
    """A system that gives certain answers, and records its requests."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self.verbs: list[str] = []

    def install(self) -> dict[str, str]:
        self.verbs.append("install")
        return {"recorded": "1"}

    def start(self, trees: int) -> None:
        self.verbs.append("start")

    def load(self) -> list[Loading]:
        self.verbs.append("load")
        return []

    def check(self) -> dict[str, Answers]:
        self.verbs.append("check")
        return {"one": self._answers}

    def lacks(self, cell: Cell) -> str | None:
        return "because" if cell.clients == 20 else None

    def run(self, cell: Cell, load: Load) -> tuple[str, Figures, Usage]:
        self.verbs.append("run")
        return f"{ROOT}/report", Figures(7, 7.0, {"mean": 1.0}, 0, None), USAGE

    def stop(self) -> None:
        self.verbs.append("stop")

    def configuration(self) -> dict[str, Any]:
        return {"how": "recorded"}


WORKLOAD = replace(
    WORKLOADS["quick"], cells={"all": Set(("hot",), (1, 5, 20), (3,))}, rows=5_000, keys=50,
    repetitions=2, training_rounds=0,
)  # fmt: skip
CELLS = WORKLOAD.cells_of({"recorded": description("recorded")})


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(WORKLOAD, on_this_machine(directory=tmp_path), tmp_path)


@pytest.fixture
def right(site: Site) -> Answers:
    return expected(site.model(3), site.features)


def test_a_run_measures_after_equal_answers(
    site: Site, right: Answers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = Recorded(right)
    put_in_place(monkeypatch, "recorded", lambda: system)
    result = Harness(site, CELLS, tmp_path).run()
    # Two cells can be, of one variant that is warmed up, and are measured in both repetitions.
    assert system.verbs == ["install", "load", "start", "check", *["run"] * 5, "stop"]
    assert [cell.skipped for cell in result.cells] == [None, None, "because"]
    assert [len(cell.runs) for cell in result.cells] == [2, 2, 0]
    run: Run = result.cells[0].runs[1]
    assert run.log == "raw/recorded-http-hot-3t-1c-2.txt"
    # No path of the machine is in what may be published.
    assert (tmp_path / run.log).read_text() == "report"


def test_a_run_with_one_unequal_answer_measures_nothing(
    site: Site, right: Answers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = Recorded(one_bit_off(right, 49))
    put_in_place(monkeypatch, "recorded", lambda: system)
    with pytest.raises(Unequal, match="recorded, one: 1 of 50 answers differ"):
        Harness(site, CELLS, tmp_path).run()
    assert system.verbs == ["install", "load", "start", "check", "stop"]
    assert not (tmp_path / "raw").exists()
