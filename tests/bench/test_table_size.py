"""The measurement of table sizes, on small tables, and what it makes of pgbench's report."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bench.table_size import parse

ROOT = Path(__file__).resolve().parent.parent.parent
REPORT = """number of transactions actually processed: {done}
number of failed transactions: {failed} (0.000%)
latency average = 0.1 ms
tps = 2000.5 (without initial connection time)
"""


def test_processor_time_is_divided_among_the_requests() -> None:
    run = parse(REPORT.format(done=20_000, failed=0), cpu_seconds=0.5)
    assert (run.requests_per_second, run.us) == (2000.5, 25.0)


@pytest.mark.parametrize(("done", "failed"), [(20_000, 1), (0, 0)])
def test_an_unsound_run_is_no_figure(done: int, failed: int) -> None:
    with pytest.raises(SystemExit, match="not a sound run"):
        parse(REPORT.format(done=done, failed=failed), cpu_seconds=0.5)


def test_a_small_measurement(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "bench.table_size", "--rows", "1000", "150000"]
    few = ["--seconds", "1", "--repetitions", "1", "--output", str(tmp_path)]
    subprocess.run([*command, *few], cwd=ROOT, check=True)
    (written,) = tmp_path.glob("*-table-size/*/table-size.json")
    small, large = json.loads(written.read_text())["rows"]
    assert (small["rows"], large["rows"]) == (1000, 150_000)
    assert large["index_levels"] > small["index_levels"]
    for table in (small, large):
        assert table["predict"]["us"]["median"] > 0
        assert table["fetch"]["requests_per_second"]["median"] > 0
