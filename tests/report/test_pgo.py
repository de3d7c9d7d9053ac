"""The page of profile-guided optimisation says what its runs say, first of all whether it wins."""

from dataclasses import replace
from pathlib import Path

import pytest

from bench.report import pgo
from pgo import result
from pgo.result import CONTROL, OPTIMISED, PLAIN, Cell, Comparison, Plan, Run
from pgo.verdict import Outcome, change, verdict

# The same build twice: in one round they are far apart, in another by two hundredths.
PLAIN_RATES, CONTROL_RATES = (1000.0, 1100.0, 1200.0), (500.0, 1100.0, 1200.0 / 1.02)
NAMES = ("one row", "batch", "full scan")


def runs(rates: tuple[float, ...], factor: float = 1) -> list[Run]:
    """A run of each rate, whose latency goes with it."""
    latency = {name: 1000 * times for name, times in (("mean", 1), ("p50", 0.9), ("max", 5))}
    return [
        Run(factor * rate, {name: ms / rate / factor for name, ms in latency.items()}, 10)
        for rate in rates
    ]


def cell(factor: float, name: str = NAMES[0]) -> Cell:
    """One whose optimised build is so many times as fast in every round."""
    return Cell(
        name, "rows",
        {
            PLAIN: runs(PLAIN_RATES), CONTROL: runs(CONTROL_RATES),
            OPTIMISED: runs(PLAIN_RATES, factor),
        },
    )  # fmt: skip


def comparison(*factors: float) -> Comparison:
    """A cell for each factor."""
    return Comparison(
        date="2026-01-01", commit="0" * 40,
        machine={"processor": "made up", "cores": "2", "system": "none"},
        versions={"rustc": "rustc 1", "llvm-profdata": "LLVM version 1", "PostgreSQL": "15"},
        plan=Plan(rounds=3, seconds=1, rows=1234567), bytes={PLAIN: 2000000, OPTIMISED: 3000000},
        cells=[cell(factor, name) for factor, name in zip(factors, NAMES, strict=True)],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("factor", "outcome"),
    [
        (1.021, Outcome.BETTER), (1.019, Outcome.WITHIN), (0.981, Outcome.WITHIN),
        (0.979, Outcome.WORSE),
    ],
)  # fmt: skip
def test_a_change_counts_beyond_what_the_same_build_twice_differs(
    factor: float, outcome: Outcome
) -> None:
    found = change(cell(factor), "throughput")
    assert found.outcome is outcome
    assert found.ratio == pytest.approx(factor)


def test_of_latency_less_is_better() -> None:
    assert change(cell(1.1), "mean").outcome is Outcome.BETTER
    assert change(cell(0.9), "p50").outcome is Outcome.WORSE


def test_a_change_is_taken_within_each_round() -> None:
    # The rounds' medians are the same, but in most rounds it was slower.
    mixed = cell(1)
    mixed.runs[OPTIMISED][:] = runs((1100.0, 900.0, 1100.0))
    assert change(mixed, "throughput").ratio == pytest.approx(1100 / 1200)


def test_a_figure_that_the_runs_do_not_have_is_left_out() -> None:
    assert change(cell(1), "p99") is None


@pytest.mark.parametrize(
    ("factors", "wins"),
    [
        ((1.1, 1.1, 1.1), True), ((1.1, 1.1, 1.0), True), ((1.1, 1.0, 1.0), False),
        ((1.1, 1.1, 0.9), False), ((1.0, 1.0, 1.0), False),
    ],
)  # fmt: skip
def test_it_wins_in_half_of_the_cells_and_loses_in_none(
    factors: tuple[float, ...], wins: bool
) -> None:
    assert verdict(comparison(*factors).cells).wins is wins


def test_the_file_gives_what_was_written(tmp_path: Path) -> None:
    written = comparison(1.1, 1.1, 1.1)
    result.write(tmp_path / result.FILE, written)
    assert result.read(tmp_path / result.FILE) == written


def test_the_page_opens_with_the_verdict_and_shows_the_figures(tmp_path: Path) -> None:
    result.write(tmp_path / result.FILE, comparison(1.1, 1.1, 0.9))
    page = pgo.page(tmp_path)
    opening = page[: page.index("## ")]
    assert "**Optimised by a profile, pgboost does not win beyond the noise.**" in opening
    assert "2 of 3 queries: one row (+10.0 %) and batch (+10.0 %)" in opening
    assert "1 of 3 queries: full scan (-10.0 %)" in opening
    assert "Changes of up to ± 2.0 % could not be told from noise." in opening
    before, after = "1,100 (1,000 to 1,200)", "1,210 (1,100 to 1,320)"
    noise = "+10.0 % | ± 2.0 % | better |"
    assert f"| one row | rows a second | {before} | {after} | {noise}" in page
    assert "1,234,567 flights" in page
    assert tmp_path.name in page


def test_the_page_of_a_win_says_so(tmp_path: Path) -> None:
    won = replace(comparison(1.1, 1.1, 1.1), date="2026-02-03")
    result.write(tmp_path / result.FILE, won)
    page = pgo.page(tmp_path)
    assert "pgboost wins beyond the noise" in page[: page.index("## ")]
    assert "Measured on 2026-02-03" in page
