"""A whole server under valgrind: in stacks of ours no invalid read or write, and no use of what nobody wrote.

PostgreSQL's own reports do not count. Its allocator is not told to valgrind, so that a read beyond a palloc
within a block of its context is not seen; the engine's own memory is, and AddressSanitizer sees the rest of
the engine (extension/gbtrees/fuzz). Valgrind knows no AVX-512, so the kernel is that of AVX2.
"""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.extension.lifecycle.test_crash import connect_after_recovery
from tests.extension.test_sql_regression import NAMES, run
from tests.state import TIMES
from tools.cluster import Cluster
from tools.cluster.server import bin_directory

# Output with the processor's kernels cannot be as expected.
ALL = [name for name in NAMES if name != "kernels"]
FEW = [
    "batch",
    "categories",
    "errors",
    "explain",
    "predict_forms",
    "predict_rows",
    "training",
]
START_SECONDS = 120
OURS = re.compile(r"pgboost(?:_train)?\.so|pgboost_trainer|\b(?:gbtrees|pg_interface|pgrx\w*)::")
# Every statement is run by way of this one.
HOOK = re.compile(r"(?m)^ *by 0x.* pgboost::customscan::read_ahead::run .*$")
# A stack deep enough to reach the function that the statement called.
CALLERS = 40


def restart(server: Cluster, *options: str | Path) -> None:
    place = server.place
    place.run(
        bin_directory() / "pg_ctl", "restart", "-D", place.data, "-m", "fast", "-w",
        "-t", str(START_SECONDS), "-l", place.log, *options,
    )  # fmt: skip


@pytest.fixture(scope="module")
def checked(spare: Cluster) -> Iterator[Cluster]:
    """The server under valgrind, and all its backends and trainers."""
    valgrind = shutil.which("valgrind") or pytest.fail("no valgrind: apt-get install valgrind")
    home = Path(spare.place.home)
    spare.place.run("mkdir", home / "valgrind")
    program = home / "postgres.sh"
    program.write_text(
        f"#!/bin/sh\nTMPDIR='{home}/valgrind' exec {valgrind} --trace-children=yes --error-limit=no"
        f" --num-callers={CALLERS} --log-file='{home}/valgrind/%p' '{bin_directory()}/postgres' \"$@\"\n"
    )
    program.chmod(0o755)
    restart(spare, "-p", program)
    connect_after_recovery(spare).close()
    yield spare


def reports(server: Cluster) -> list[str]:
    """The reports of valgrind with stacks of ours."""
    found = []
    logs = list(Path(server.place.home, "valgrind").glob("[0-9]*"))
    assert logs, "valgrind wrote nothing"
    for log in logs:
        text = re.sub(r"(?m)^==\d+== ?", "", log.read_text(errors="replace"))
        assert text.startswith("Memcheck")
        parts = [HOOK.sub("", part) for part in text.split("\n\n")]
        found += [part for part in parts if " at 0x" in part and OURS.search(part)]
    return found


@pytest.mark.parametrize("name", ALL if TIMES > 1 else FEW)
def test_nothing_invalid(name: str, checked: Cluster, tmp_path: Path) -> None:
    assert run(name, checked, {}, tmp_path / name) is None
    assert reports(checked) == []
