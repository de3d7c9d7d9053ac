"""What a run prints at its end: every cell can be told from every other, and no column is empty."""

from dataclasses import replace

import pytest

from bench.table import show
from tests.bench.test_results import AT_A_RATE, MEASURED, RESULT, SKIPPED


def shown(capsys: pytest.CaptureFixture[str]) -> tuple[list[str], list[list[str]]]:
    """The header and the lines of the one table."""
    lines = capsys.readouterr().out.splitlines()
    start = next(number for number, line in enumerate(lines) if line.split()[:1] == ["system"])
    end = lines.index("", start)
    return lines[start].split(), [line.split() for line in lines[start + 2 : end]]


def test_cells_that_differ_in_their_delay_are_told_apart(
    capsys: pytest.CaptureFixture[str],
) -> None:
    cells = [replace(MEASURED, delay_ms=delay) for delay in (0.0, 0.25)]
    show(replace(RESULT, cells=cells))
    header, lines = shown(capsys)
    assert header[4:6] == ["delay", "ms"]
    assert [line[4] for line in lines] == ["0", "0.25"]


def test_a_column_without_a_value_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    show(replace(RESULT, cells=[replace(MEASURED, runs=[AT_A_RATE.runs[0]]), SKIPPED]))
    header, lines = shown(capsys)
    assert not {"delay", "asked/s", "server", "MB"} & {*header}
    assert lines[1] == ["a", "http", "25", "5"]
