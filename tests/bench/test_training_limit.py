"""The largest table that trains is found by halving; what needs more memory than the limit does not fit."""

import tempfile
from pathlib import Path

import pytest

from bench import training
from bench.training_limit import Limits, largest
from cluster import stop

ROWS = 200_000


@pytest.mark.parametrize("limit", [0, 1, 9, 10, 500, 999, 1_000, 5_000])
def test_the_largest_that_fits_is_found(limit: int) -> None:
    asked: list[int] = []

    def fits(rows: int) -> bool:
        asked.append(rows)
        return rows <= limit

    found = largest(fits, most=1_000, step=10)
    assert found == min(limit, 1_000) // 10 * 10
    assert len(asked) <= 8
    assert len({*asked}) == len(asked)


@pytest.mark.parametrize(("gib", "rows"), [(4, ROWS), (0.02, 0)])
def test_memory_decides_what_fits(gib: float, rows: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        state = Path(name)
        state.chmod(0o755)
        try:
            limits = Limits(state, gib)
            limits.fill(ROWS)
            found = limits.measure(ROWS, ROWS)
        finally:
            stop(state, delete=True)
    assert found["largest_rows"] == dict.fromkeys(training.WAYS, rows)
    assert [one["rows"] for one in found["tries"]] == [ROWS] * len(training.WAYS)
