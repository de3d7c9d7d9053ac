"""What the report computes from the runs: ratios, steps, rates held, lines, verdicts, wins."""

from collections.abc import Container
from dataclasses import replace

import pytest

from bench.report import distance, ladder
from bench.report.entries import ALL, ONE_THREAD, PREPARED, SIMPLE, TUNED, Entry
from bench.report.figures import added, ranged, tenths, three_digits, times
from bench.report.files import Sources
from bench.report.goals import Goal, inverse, of_local, of_split, over_runs
from bench.report.measured import Asked, Lacking, Measured, latency, requests_per_second, server_us
from bench.report.preparing import slower, trainings
from bench.report.rates import fixed_rates
from bench.report.wins import wins
from bench.results import Spread


def scaled(measured: Measured, system: str, factor: float) -> Measured:
    """The same result with every run of a system so many times as fast."""
    cells = []
    for cell in measured.result.cells:
        runs = [
            replace(run, requests_per_second=run.requests_per_second * factor) for run in cell.runs
        ]
        cells.append(replace(cell, runs=runs) if cell.system == system else cell)
    return Measured(replace(measured.result, cells=cells), measured.name)


def test_a_ratio_is_taken_within_each_repetition(made: Sources) -> None:
    found = made.local.times(SIMPLE, TUNED, Asked(), requests_per_second)
    pairs = zip(
        made.local.cell(SIMPLE, Asked()).runs, made.local.cell(TUNED, Asked()).runs, strict=True
    )
    ratios = [a.requests_per_second / b.requests_per_second for a, b in pairs]
    assert found == Spread.of(ratios)


def test_the_ratio_of_cells_of_unequal_repetitions_has_the_widest_range(made: Sources) -> None:
    above, below = made.local.cell(SIMPLE, Asked()), made.local.cell(TUNED, Asked())
    once = replace(below, runs=below.runs[:1])
    under = once.runs[0].requests_per_second
    found = made.local.ratio(above, once, requests_per_second)
    over = Spread.of([run.requests_per_second for run in above.runs])
    assert found == Spread(over.median / under, over.smallest / under, over.largest / under)


def test_a_figure_that_no_run_has_is_none(made: Sources) -> None:
    assert made.local.spread(SIMPLE, Asked(), latency("p99")) is None
    with pytest.raises(Lacking, match="no such figure"):
        made.local.needed(SIMPLE, Asked(), latency("p99"))


@pytest.mark.parametrize(
    ("entry", "steps"),
    [(TUNED, ladder.NEEDED), (SIMPLE, ladder.PARTS)],
    ids=("service", "database"),
)
def test_the_steps_of_a_request_add_up_to_it(
    made: Sources, entry: Entry, steps: Container[str]
) -> None:
    for number, run in enumerate(made.local.cell(entry, Asked()).runs):
        alone = replace(
            made.local.result,
            cells=[
                replace(cell, runs=cell.runs[number : number + 1])
                for cell in made.local.result.cells
            ],
        )
        parts = ladder.parts(Measured(alone, "one"), entry)
        assert [*parts] == [step for step in ladder.PARTS if step in steps]
        assert sum(part.median for part in parts.values()) == pytest.approx(server_us(run))


def test_rates_are_held_or_missed_or_not_tried(made: Sources) -> None:
    rates = fixed_rates(made.local)
    assert rates.rates == (500, 1_000, 2_000, 4_000, 10_000, 20_000)
    assert rates.held(SIMPLE) == [*rates.rates]
    assert rates.held(ONE_THREAD) == [500, 1_000]
    assert rates.missed(ONE_THREAD) == [2_000]


def test_the_line_is_that_of_the_round_trips(made: Sources) -> None:
    grown = {one.entry: one for one in distance.growth(made.split)}
    assert grown[SIMPLE].round_trips == pytest.approx(1, abs=0.05)
    assert grown[TUNED].round_trips == pytest.approx(2, abs=0.15)
    for one in grown.values():
        assert one.furthest < 0.05
        assert [point.delay_ms for point in one.points] == [0.0, 0.1, 0.25, 0.5]


def test_goals_are_met_or_missed_where_the_whole_range_is(made: Sources) -> None:
    what = "throughput: PostgreSQL (simple) against service (tuned), 20 clients"
    assert {goal.what: goal.verdict for goal in of_local(made.local)}[what] == "met"
    worse = {goal.what: goal for goal in of_local(scaled(made.local, "python_tuned", 3))}
    assert worse[what].verdict == "missed"
    assert worse[what].measured.largest < 9
    assert Goal("x", 9, None).verdict == "not measured"
    assert Goal("x", 9, Spread(10.0, 9.0, 11.0)).verdict == "met"
    assert Goal("x", 9, Spread(9.5, 8.0, 10.0)).verdict == "within noise"
    assert Goal("x", 9, Spread(8.5, 8.0, 8.9)).verdict == "missed"


def test_runs_are_pooled() -> None:
    runs = [[Goal("x", 9, Spread(10.0, 9.5, 11.0)), Goal("y", 1, None)],
            [Goal("x", 9, Spread(9.2, 8.5, 9.4)), Goal("y", 1, None)]]  # fmt: skip
    one, other = over_runs(runs)
    assert one.measured == Spread(9.6, 8.5, 11.0)
    assert (one.verdict, other.measured) == ("within noise", None)


def test_over_a_network_the_best_service_is_the_rival(made: Sources) -> None:
    cells = [
        replace(cell, system="python_memory") if cell.system == "python_tuned" else cell
        for cell in scaled(made.split, "python_tuned", 2).result.cells
    ]
    both = replace(made.split.result, cells=[*made.split.result.cells, *cells])
    rivals = [goal.what for goal in of_split(Measured(both, "both")) if goal.least == 9]
    assert rivals and all("features in memory" in what for what in rivals)


def test_three_hosts_have_goals_of_their_own(made: Sources) -> None:
    goals = of_split(made.split)
    assert [goal.least for goal in goals] == [12, 4, 9, 4]
    assert all(goal.measured for goal in goals)
    assert of_split(made.local) == []


def test_an_inverse_keeps_its_order() -> None:
    assert inverse(Spread(0.5, 0.25, 1.0)) == Spread(2.0, 1.0, 4.0)
    assert inverse(None) is None


def test_what_the_service_wins_is_found(made: Sources) -> None:
    found, compared = wins(made.local)
    assert {win.contest.what for win in found} == {"memory of the servers, MB"}
    assert compared > len(found) > 0
    faster, _ = wins(scaled(made.local, "python_memory", 100))
    throughput = [win for win in faster if win.contest.what == "requests per second"]
    assert {win.service.system for win in throughput} == {"python_memory"}
    assert {win.database for win in throughput} >= {SIMPLE, PREPARED}
    assert all(win.service_figure.median > win.database_figure.median for win in throughput)


def test_a_win_within_the_spread_is_not_clear(made: Sources) -> None:
    (win, *_), _ = wins(made.local)
    assert win.clear
    touching = Spread(
        win.service_figure.median, win.service_figure.smallest, win.database_figure.median
    )
    assert not replace(win, service_figure=touching).clear


def test_slower_preparations_are_told(made: Sources) -> None:
    ((verb, own, other),) = slower(made.local)
    assert (verb, own.what, other.what) == ("Training on", "train_model", "pandas, XGBRegressor")
    assert other.seconds.median < own.seconds.median


def test_the_trainings_of_one_way_are_put_together(made: Sources) -> None:
    sql, python = trainings(made.local)
    assert (sql.what, sql.seconds) == ("train_model", Spread(2.1, 2.0, 2.2))
    assert (python.rows, python.rounds, python.threads) == (1_000_000, 25, 2)


def test_entries_are_told_apart() -> None:
    for known in ("label", "colour"):
        assert len({getattr(entry, known) for entry in ALL}) == len(ALL)
    assert len({(entry.system, entry.variant) for entry in ALL}) == len(ALL)
    assert SIMPLE.ink == SIMPLE.colour
    assert PREPARED.ink != PREPARED.colour


@pytest.mark.parametrize(
    ("value", "text"), [(0.0, "0"), (0.0123, "0.012"), (1.234, "1.23"), (45.67, "45.7"), (1234.5, "1,234")]
)  # fmt: skip
def test_three_digits(value: float, text: str) -> None:
    assert three_digits(value) == text


def test_figures_as_text() -> None:
    assert times(9.94) == "9.94"
    assert times(16.94) == "16.9"
    assert times(222.2) == "222"
    assert ranged(None, times) == "-"
    assert ranged(Spread(2.0, 1.0, 3.0), tenths) == "2.0 (1.0 to 3.0)"
    assert added([1.0, 2.0, -0.5], tenths) == "1.0 + 2.0 - 0.5"
