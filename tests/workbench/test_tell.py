"""Tables line up, numbers to the right and text to the left."""

import pytest

from workbench.tell import table


def test_columns_are_aligned(capsys: pytest.CaptureFixture[str]) -> None:
    table(("name", "rows", "share"), [("a", "1,000", 0.5), ("long name", "7", None)])
    assert [line[6:] for line in capsys.readouterr().out.splitlines()] == [
        "name        rows  share",
        "---------  -----  -----",
        "a          1,000   0.50",
        "long name      7",
    ]


def test_no_rows_are_said(capsys: pytest.CaptureFixture[str]) -> None:
    table(("name",), [])
    assert capsys.readouterr().out.splitlines()[-1].strip() == "(no rows)"
