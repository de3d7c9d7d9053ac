"""One answer that differs by one bit stops a run before anything is timed."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench import harness
from bench.answers import Answers, Reference, Unequal, compare
from bench.generators import Figures, Load
from bench.harness import Harness
from bench.hosts import ROOT, Usage
from bench.results import Loading, Run
from bench.site import Site
from bench.topology import on_this_machine
from bench.workload import WORKLOADS, Cell, Set
from tests.bench.made_up import USAGE, description

BODIES = [[1, 2019, 8, day] for day in range(1, 5)]
SINGLE = np.array([1.5, -0.0, 0.1, 1e-40], dtype=np.float32)
WANTED = [[one] for one in SINGLE.tolist()]


def one_bit_off(answers: Answers, place: int) -> Answers:
    bits = np.array(answers, np.float32)
    bits.view(np.uint32)[place] ^= 1
    return bits.tolist()


def test_equal_answers_pass() -> None:
    compare("all", BODIES, WANTED, WANTED, exact=True)
    # The shortest text of 32 bits, which only some ways of asking give.
    text = [[0.1] if one == WANTED[2] else one for one in WANTED]
    compare("text", BODIES, WANTED, text)
    with pytest.raises(Unequal, match="text: 1 of 4"):
        compare("text", BODIES, WANTED, text, exact=True)


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("place", range(len(BODIES)))
def test_one_bit_is_a_difference(place: int, exact: bool) -> None:
    with pytest.raises(Unequal, match="bad: 1 of 4 answers differ") as raised:
        compare("bad", BODIES, WANTED, one_bit_off(WANTED, place), exact)
    assert str(BODIES[place]) in str(raised.value)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        # Zero and minus zero, and more and fewer numbers in an answer.
        ([[1.5], [0.0], *WANTED[2:]], "1 of 4 answers differ"),
        ([[1.5, 1.5], [], *WANTED[2:]], "2 of 4 answers differ"),
        ([], "0 answers to 4 requests"),
        (WANTED * 2, "8 answers to 4 requests"),
    ],
)
def test_missing_and_extra_answers_are_unequal(given: Answers, message: str) -> None:
    with pytest.raises(Unequal, match=message):
        compare("one", BODIES, WANTED, given)


class Recorded:
    """A system that gives certain answers, and records its requests."""

    exact = True

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

    def answers(self, name: str, bodies: list[Any]) -> dict[str, Answers]:
        self.verbs.append(name)
        flat = [one for answer in self._answers for one in answer]
        return {name: self._answers if name == "random" else [flat]}

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
    WORKLOADS["quick"], cells={"all": Set(("random",), (1, 5, 20), (3,))}, rows=5_000, keys=50,
    repetitions=2, training_rounds=0,
)  # fmt: skip
CELLS = WORKLOAD.cells_of({"recorded": description("recorded")})


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(WORKLOAD, on_this_machine(directory=tmp_path), tmp_path)


def recorded(site: Site, monkeypatch: pytest.MonkeyPatch, wrong: int | None = None) -> Recorded:
    """Makes a system the only one of the harness; its answers are right, but for one bit of one."""
    reference = Reference([site.model(3)], site.inputs(3), site.features, 50)
    right = reference.answers("random", reference.bodies("random"))
    system = Recorded(right if wrong is None else one_bit_off(right, wrong))
    monkeypatch.setattr(harness, "described", lambda: {"recorded": description("recorded")})
    monkeypatch.setattr(harness, "made", lambda *_: system)
    return system


def test_a_run_measures_after_equal_answers(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = recorded(site, monkeypatch)
    result = Harness(site, CELLS, tmp_path).run()
    # Two cells can be, of one variant that is warmed up, and are measured in both repetitions.
    before = ["install", "load", "start", "random", "batch"]
    assert system.verbs == [*before, *["run"] * 5, "stop"]
    assert result.checked[0].compared == {"recorded, random": 50, "recorded, batch": 50}
    assert [cell.skipped for cell in result.cells] == [None, None, "because"]
    assert [len(cell.runs) for cell in result.cells] == [2, 2, 0]
    run: Run = result.cells[0].runs[1]
    assert run.log == "raw/recorded-http-random-3t-1c-2.txt"
    # No path of the machine is in what may be published.
    assert (tmp_path / run.log).read_text() == "report"


def test_a_run_with_one_unequal_answer_measures_nothing(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = recorded(site, monkeypatch, wrong=49)
    with pytest.raises(Unequal, match="recorded, random: 1 of 50 answers differ"):
        Harness(site, CELLS, tmp_path).run()
    assert system.verbs == ["install", "load", "start", "random", "stop"]
    assert not (tmp_path / "raw").exists()
