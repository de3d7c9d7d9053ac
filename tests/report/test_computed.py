"""What the report computes from the runs: ratios, steps, rates held, lines, wins."""

from dataclasses import replace

import pytest

from bench.report.computed import fixed_rates, growth, steps, wins
from bench.report.figures import ranged, times, version
from bench.report.files import Sources
from bench.report.measured import (
    ONE_THREAD,
    SIMPLE,
    TUNED,
    Asked,
    Entry,
    Lacking,
    Measured,
    ratio,
)
from bench.results import CellResult, Spread
from tests.report.conftest import scaled


def test_rates_are_held_or_missed_or_not_tried(made: Sources) -> None:
    rates = fixed_rates(made.local)
    assert rates.rates == (500, 1_000, 2_000, 4_000, 10_000, 20_000)
    assert rates.held(SIMPLE) == [*rates.rates]
    assert rates.held(ONE_THREAD) == [500, 1_000, 2_000]
    assert rates.held(ONE_THREAD, False) == [4_000]


@pytest.mark.parametrize(("least", "mark"), [(1, ""), (0.81, ""), (0.79, " ‡")])
def test_a_cell_whose_runs_differ_is_marked(made: Sources, least: float, mark: str) -> None:
    def at_a_share(cell: CellResult) -> CellResult:
        best = replace(cell.runs[0], requests_per_second=1000)
        return replace(cell, runs=[best, replace(best, requests_per_second=1000 * least)])

    cells = [at_a_share(cell) if cell.runs else cell for cell in made.local.result.cells]
    changed = Measured(replace(made.local.result, cells=cells), made.local.name)
    assert changed.mark(TUNED, Asked()) == mark


def test_the_line_is_that_of_the_round_trips(made: Sources) -> None:
    grown = {one.entry: one for one in growth(made.split)}
    assert grown[SIMPLE].round_trips == pytest.approx(1, abs=0.05)
    assert grown[TUNED].round_trips == pytest.approx(2, abs=0.15)
    for one in grown.values():
        assert one.furthest < 0.05
        assert len(one.points) == 4


def test_the_trainings_of_one_way_are_put_together(made: Sources) -> None:
    sql, python = made.local.trainings()
    assert (sql.what, sql.seconds.median) == ("postgresql: train_model", 1.4)
    assert (sql.seconds.smallest, sql.seconds.largest) == pytest.approx((1.3, 1.5))
    assert (python.rows, python.rounds, python.threads) == (1_000_000, 25, 2)


def test_a_ratio_is_taken_within_each_repetition(made: Sources) -> None:
    above, below = made.local.cell(SIMPLE, Asked()), made.local.cell(TUNED, Asked())
    pairs = zip(above.runs, below.runs, strict=True)
    ratios = [a.requests_per_second / b.requests_per_second for a, b in pairs]
    assert made.local.times(SIMPLE, TUNED, Asked(), "rate") == Spread.of(ratios)
    once = replace(below, runs=below.runs[:1])
    under = once.runs[0].requests_per_second
    over = Spread.of([run.requests_per_second for run in above.runs])
    assert ratio(above, once, "rate") == Spread(
        over.median / under, over.smallest / under, over.largest / under
    )


def test_a_figure_that_no_run_has_is_none(made: Sources) -> None:
    assert made.local.spread(SIMPLE, Asked(), "p99") is None
    assert made.local.spread(SIMPLE, Asked(clients=7), "rate") is None
    with pytest.raises(Lacking, match="no figures of the cell"):
        made.local.named("postgres_direct/simple/hot/25t/7c")


@pytest.mark.parametrize("entry", [TUNED, SIMPLE], ids=("service", "database"))
def test_the_steps_of_a_request_add_up_to_it(made: Sources, entry: Entry) -> None:
    found = steps(made.local, entry)
    assert ("columns" in found) == (entry == SIMPLE)
    for number, run in enumerate(made.local.cell(entry, Asked()).runs):
        us = run.server.cpu_seconds * 1e6 / run.requests
        assert sum(one[number] for one in found.values()) == pytest.approx(us)


def test_what_the_service_wins_is_found_and_counted_once(made: Sources) -> None:
    found, questions = wins(made.local)
    assert not found and questions > 10
    faster, same = wins(scaled(made.local, "python_memory", 100))
    assert same == questions
    throughput = [win for win in faster if win.what == "requests per second"]
    assert {win.service.system for win in throughput} == {"python_memory"}
    assert all(win.clear for win in throughput)
    assert all(win.theirs.median > win.ours.median for win in throughput)


def test_a_run_that_the_median_hides_is_told_of(made: Sources) -> None:
    assert not [*fixed_rates(made.local).outliers()]
    cell = made.local.named("postgres_direct/simple/hot/25t/20c/1000r")
    slow = cell.runs[3].latency_ms | {"p99": 117.0, "max": 179.0}
    runs = [*cell.runs[:3], replace(cell.runs[3], latency_ms=slow), *cell.runs[4:]]
    cells = [replace(one, runs=runs) if one is cell else one for one in made.local.result.cells]
    changed = Measured(replace(made.local.result, cells=cells), "changed")
    assert [*fixed_rates(changed).outliers()] == [(SIMPLE, 1_000, 1, 5, 117.0, 179.0)]


def test_figures_as_text() -> None:
    assert times(9.94) == "9.94"
    assert times(16.94) == "16.9"
    assert ranged(None, "times") == "-"
    assert ranged(Spread(2.0, 1.0, 3.0), "tenths") == "2.0 (1.0 to 3.0)"
    assert version("wrk debian/4.1.0-3+b2 [epoll] Copyright (C) 2012 Will Glozer") == "4.1.0-3+b2"
