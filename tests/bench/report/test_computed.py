"""Figures that the report computes from the runs: ratios, steps, sustained rates, lines."""

from dataclasses import replace

import pytest

from bench.report import measured
from bench.report.computed import fixed_rates, growth, steps, sustained
from bench.report.files import Sources
from bench.report.measured import SIMPLE, Entry, Measured, MissingFigure, RequestSpec, entry
from bench.results import CellResult, Spread

TUNED = entry("python_tuned", "http")
ONE_THREAD = entry("python_published_one_thread", "http")


def test_rates_are_held_or_missed_or_not_tried(made: Sources) -> None:
    asked = fixed_rates(made.local)
    rates = [one.rate for one in asked]
    assert rates == [500, 1_000, 2_000, 4_000, 10_000, 20_000]
    assert sustained(made.local, SIMPLE, asked) == rates
    assert sustained(made.local, ONE_THREAD, asked) == [500, 1_000, 2_000]


def test_the_line_is_that_of_the_round_trips(made: Sources) -> None:
    grown = {one.entry: one for one in growth(made.split)}
    assert grown[SIMPLE].round_trips == pytest.approx(1, abs=0.05)
    assert grown[TUNED].round_trips == pytest.approx(2, abs=0.15)
    for one in grown.values():
        assert len(one.points) == 4
        for trip, latency in one.points:
            assert one.base_ms + one.round_trips * trip == pytest.approx(latency.median, abs=0.05)


def test_trainings_of_one_way_are_summarized(made: Sources) -> None:
    sql, _ = made.local.trainings()
    assert (sql.what, sql.seconds.median) == ("postgresql: train_model", 1.4)
    assert (sql.seconds.smallest, sql.seconds.largest) == pytest.approx((1.3, 1.5))


def test_a_ratio_is_of_the_same_repetition_of_the_same_run(made: Sources) -> None:
    def cell(name: str, rates: dict[str, float]) -> CellResult:
        run = made.local.named("postgres_direct/simple/hot/25t/20c").runs[0]
        runs = [
            replace(run, requests_per_second=rate, log=f"{of}/raw/{name}-{turn}.txt")
            for (of, turn), rate in ((one.split(), rate) for one, rate in rates.items())
        ]
        return replace(made.local.result.cells[0], runs=runs)

    above = cell("a", {"one 1": 10, "one 2": 20, "two 1": 60, "two 2": 80})
    below = cell("b", {"one 1": 5, "two 1": 10, "two 2": 8})
    # 10/5, 60/10, 80/8; the second repetition of the first run has no partner.
    found = measured.ratio(above, below, "rate")
    assert (found, found.count) == (Spread(6.0, 2.0, 10.0), 3)
    unpaired = measured.ratio(above, cell("c", {"three 1": 2}), "rate")
    assert unpaired == Spread(20.0, 5.0, 40.0)


def test_a_figure_that_no_run_has_is_none(made: Sources) -> None:
    assert made.local.spread(SIMPLE, RequestSpec("hot"), "p99") is None
    assert made.local.spread(SIMPLE, RequestSpec(clients=7), "rate") is None
    with pytest.raises(MissingFigure, match="no figures of the cell"):
        made.local.named("postgres_direct/simple/hot/25t/7c")


@pytest.mark.parametrize("entry", [TUNED, SIMPLE], ids=("service", "database"))
def test_the_steps_of_a_request_add_up_to_it(made: Sources, entry: Entry) -> None:
    found = steps(made.local, entry)
    assert ("columns" in found) == (entry == SIMPLE)
    for number, run in enumerate(made.local.cell(entry, RequestSpec("hot")).runs):
        us = run.server.cpu_seconds * 1e6 / run.requests
        assert sum(one[number] for one in found.values()) == pytest.approx(us)


def test_a_latency_is_inverted_in_each_repetition(made: Sources) -> None:
    """The median of an even number of ratios is not the inverse of the median of their inverses."""
    cell = made.local.named("postgres_direct/simple/hot/25t/20c")

    def slowed(*means: float) -> CellResult:
        pairs = zip(cell.runs, means, strict=False)
        return replace(cell, runs=[replace(run, latency_ms={"mean": ms}) for run, ms in pairs])

    assert measured.better(slowed(1, 1), slowed(1, 3), "mean") == Spread(2.0, 1.0, 3.0)


def test_a_rate_is_held_where_most_runs_held_it(made: Sources) -> None:
    cell = made.local.named("python_tuned/http/hot/25t/20c/2000r")
    missed = replace(cell.runs[0], open_loop=replace(cell.runs[0].open_loop, kept_up=False))
    runs = [missed, *cell.runs[1:4]]
    cells = [replace(one, runs=runs) if one is cell else one for one in made.local.result.cells]
    changed = Measured(replace(made.local.result, cells=cells), "changed")
    assert 2_000 in sustained(changed, TUNED, fixed_rates(changed))
