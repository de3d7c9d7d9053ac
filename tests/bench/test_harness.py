"""Answers are compared before anything is timed, and cells are measured as their systems can sustain.

One answer that differs by one bit stops a run. Rates that a system cannot sustain are measured once and
reported; the remaining time is planned.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench import harness
from bench.answers import Answers, Reference, Unequal, compare
from bench.generators import Figures, InvalidRun, Load
from bench.harness import Harness
from bench.hosts import ROOT, Usage
from bench.measuring import Measuring
from bench.processes import Used
from bench.results import CellResult, Loading, OpenLoop, Run
from bench.site import Site
from bench.systems.description import Description, Variant
from bench.topology import on_this_machine
from bench.workload import WORKLOADS, Cell, Set, Workload

USAGE = Usage(1.0, Used(1.0, 1), {"made up": Used(1.0, 1)}, Used(1.0, 1), None)


def description(name: str) -> Description:
    """Describes a system with one variant that takes the set `all`."""
    variants = {"http": Variant(name)}
    return Description(name, "", "service", 0, "", "", variants, ("all",))


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


CHECKED = replace(
    WORKLOADS["quick"], cells={"all": Set(("random",), (1, 5, 20), (3,))}, rows=5_000, keys=50,
    repetitions=2, training_rounds=0,
)  # fmt: skip
CELLS = CHECKED.cells_of({"recorded": description("recorded")})


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(CHECKED, on_this_machine(directory=tmp_path), tmp_path)


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


RATES = (100, 200, 300, 400)
WORKLOAD = replace(
    WORKLOADS["quick"],
    cells={"all": Set(("random",), (5,), (3,), rates=(None, *RATES))},
    repetitions=3,
)


class Limited:
    """A system with a limited number of requests per second."""

    def __init__(self, most: float, from_then: int = 0) -> None:
        self._most = most
        self._from_then = from_then
        self.asked: list[Load] = []

    def lacks(self, _: Cell) -> str | None:
        return None

    def run(self, _: Cell, load: Load) -> tuple[str, Figures, Usage]:
        self.asked.append(load)
        if load.rate is None:
            return "", Figures(10, self._most, {"mean": 1.0}, 0, None), USAGE
        held = load.rate <= self._most or load.seed - WORKLOAD.seed < self._from_then
        schedule = OpenLoop(10, 0, 0 if held else 5, held)
        rate = min(load.rate, self._most)
        return "", Figures(10, rate, {"mean": 1.0, "p50": 1.0}, 10, schedule), USAGE


def of(directory: Path, workload: Workload, **systems: Limited) -> Measuring:
    """Returns what measures these systems."""
    site = Site(workload, on_this_machine(directory=directory), directory)
    cells = workload.cells_of({name: description(name) for name in systems})
    return Measuring(site, systems, cells, directory)


def measure(system: Limited, directory: Path) -> dict[int | None, CellResult]:
    measuring = of(directory, WORKLOAD, one=system)
    measuring.measure(3, ["one"])
    return {cell.rate: cell for cell in measuring.found()}


def test_a_rate_that_is_missed_is_measured_once_and_faster_ones_never(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    system = Limited(most=250)
    found = measure(system, tmp_path)
    assert {rate: len(cell.runs) for rate, cell in found.items()} == {
        None: 3, 100: 3, 200: 3, 300: 1, 400: 0,
    }  # fmt: skip
    assert found[300].skipped is None
    assert not found[300].runs[0].open_loop.kept_up
    assert found[300].requests_per_second.median == 250
    assert found[400].skipped == (
        "one/http cannot keep up with 300 requests per second (it answered 250), so no faster ones were sent"
    )
    assert {load.rate for load in system.asked} == {None, 100, 200, 300}
    lines = capsys.readouterr().out.splitlines()
    # Thirteen runs were planned, ten were made.
    assert len([line for line in lines if " left] one/http/" in line]) == 10
    assert lines[-1].startswith("[under a minute left]")


def test_a_rate_at_which_requests_fail_is_not_measured(tmp_path: Path) -> None:
    class Failing(Limited):
        def run(self, cell: Cell, load: Load) -> tuple[str, Figures, Usage]:
            if load.rate and load.rate > 200:
                raise InvalidRun("requests failed: {'connection closed': 3}")
            return super().run(cell, load)

    found = measure(Failing(most=1000), tmp_path)
    assert [len(found[rate].runs) for rate in RATES] == [3, 3, 0, 0]
    assert found[300].skipped.endswith("(requests failed: {'connection closed': 3})")
    assert found[400].skipped.endswith("3}), so no faster ones were sent")


def test_a_rate_that_is_missed_later_is_measured_to_the_end(tmp_path: Path) -> None:
    found = measure(Limited(most=250, from_then=1), tmp_path)
    assert [run.open_loop.kept_up for run in found[400].runs] == [True, False, False]
    assert all(cell.skipped is None for cell in found.values())


def test_a_variant_is_warmed_up_once_and_a_rate_settles_each_time(tmp_path: Path) -> None:
    system = Limited(most=1000)
    measure(system, tmp_path)
    closed = [load.seconds for load in system.asked if load.rate is None]
    assert sorted(closed) == [WORKLOAD.warm_up_seconds, *[WORKLOAD.seconds] * 3]
    settled = [load.warm_up for load in system.asked if load.seconds > WORKLOAD.warm_up_seconds]
    assert {*settled} == {1}


class Starved(Limited):
    """A system whose second run has one core of two."""

    def run(self, cell: Cell, load: Load) -> tuple[str, Figures, Usage]:
        said, figures, used = super().run(cell, load)
        counted = [one for one in self.asked if one.seconds == WORKLOAD.seconds and not one.rate]
        cores = 1.0 if len(counted) == 2 else 1.8
        return said, figures, replace(used, server=Used(cores, 1))


def test_a_run_without_all_cores_is_repeated_once_and_both_are_kept(tmp_path: Path) -> None:
    workload = replace(WORKLOAD, cells={"all": Set(("random",), (5,), (3,))}, repetitions=2)
    measuring = of(tmp_path, workload, one=Starved(most=1000))
    measuring.measure(3, ["one"])
    (found,) = measuring.found()
    assert [run.server.cpu_seconds for run in found.runs] == [1.8, 1.0, 1.8]
    logs = [run.log for run in found.runs]
    assert logs == [f"raw/one-http-random-3t-5c-{turn}.txt" for turn in (1, 2)] + [
        "raw/one-http-random-3t-5c-again-2.txt"
    ]
    assert all((tmp_path / log).exists() for log in logs)


def test_a_cell_in_which_requests_fail_ends_no_other(tmp_path: Path) -> None:
    class Refusing(Limited):
        def run(self, cell: Cell, load: Load) -> tuple[str, Figures, Usage]:
            if load.seconds == WORKLOAD.seconds:
                raise InvalidRun("requests failed: {'status': 3}")
            return super().run(cell, load)

    workload = replace(WORKLOAD, cells={"all": Set(("random",), (5,), (3,))})
    measuring = of(tmp_path, workload, one=Refusing(most=1000), two=Limited(most=1000))
    measuring.measure(3, ["one", "two"])
    refused, other = measuring.found()
    assert (refused.skipped, refused.runs) == ("the run failed: requests failed: {'status': 3}", [])
    assert (other.skipped, len(other.runs)) == (None, WORKLOAD.repetitions)
    assert measuring.failed == "one/http/random/3t/5c: requests failed: {'status': 3}"


def test_a_failure_is_recorded_and_earlier_runs_are_kept(tmp_path: Path) -> None:
    measuring = of(tmp_path, WORKLOAD, one=Limited(most=1000), two=Limited(most=1000))
    assert not measuring.measured()
    measuring.measure(3, ["one"])
    assert measuring.measured()
    measuring.fail(3, ["two"], "it does not start:\nits last words")
    for cell in measuring.found():
        assert bool(cell.runs) == (cell.system == "one")
        assert cell.skipped == (None if cell.runs else "the run failed: it does not start:")
