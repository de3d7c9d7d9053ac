"""The wheel compared with the libraries' calls: the fastest call counts, and a ratio is of one repetition."""

import json
from pathlib import Path

from bench.report import wheel


def test_the_fastest_call_is_compared_by_repetition(tmp_path: Path) -> None:
    calls = {"gbtrees": [1e-3, 2e-3, 2e-3], "slow": [9.0] * 3, "fast": [1e-2, 4e-2, 2e-2]}
    other = {"gbtrees": [1.0] * 3, "only": [4.0] * 3}
    subjects = {"a": {"margins": calls}, "b": {"margins": other}}
    record = {"rows": {"margins": 1000}, "subjects": subjects, "overhead": [2e-6]}
    (tmp_path / "wheel.json").write_text(json.dumps(record))
    found = wheel.given(tmp_path)
    row, _ = found["tables"]["margins"]
    assert (row["model"], row["call"]) == ("a", "fast")
    assert (round(row["ours"].median, 6), round(row["theirs"].median, 6)) == (2, 20)
    times = row["times"]
    assert [round(one, 6) for one in (times.smallest, times.median, times.largest)] == [10, 10, 20]
    assert round(found["medians"]["margins"], 6) == 7
    assert round(found["overhead"].median, 6) == 2
