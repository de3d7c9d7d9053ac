"""Usage of process trees includes ended children's time, and shared memory once."""

import itertools
import os
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

from bench import processes

MEGABYTE = 1 << 20
# The unit of CPU time in the kernel.
TICK = 1 / os.sysconf("SC_CLK_TCK")

Run = Callable[[str], subprocess.Popen[str]]


@pytest.fixture
def run() -> Iterator[Run]:
    """Runs a Python program, which prints a line when it is ready and then waits for one."""
    started: list[subprocess.Popen[str]] = []

    def start(program: str) -> subprocess.Popen[str]:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        process = subprocess.Popen([sys.executable, "-c", program], text=True, **pipes)
        started.append(process)
        assert process.stdout.readline() == "ready\n"
        return process

    yield start
    for process in started:
        process.stdin.close()
        process.wait(10)
        process.stdout.close()


WAIT = "import sys; print('ready', flush=True); sys.stdin.read()"
FORK_TWICE = f"""
import os
read, write = os.pipe()
if os.fork() == 0:
    if os.fork() == 0:
        os.write(write, b'x')
        os.read(0, 1)
        os._exit(0)
    os.wait()
    os._exit(0)
os.read(read, 1)
{WAIT}
os.wait()
"""


def test_a_tree_is_the_process_and_all_that_descend_from_it(run: Run) -> None:
    alone, family = run(WAIT), run(FORK_TWICE)
    assert processes.tree([alone.pid]) == [alone.pid]
    found = processes.tree([family.pid])
    assert family.pid in found
    assert len(found) == 3
    # Each process is counted once, even if one root descends from another.
    assert sorted(processes.tree([alone.pid, *found])) == sorted([alone.pid, *found])
    alone.communicate("\n")
    assert processes.tree([alone.pid]) == []
    assert processes.cpu_seconds([alone.pid]) == processes.pss_bytes([alone.pid]) == 0


BURN_IN_A_CHILD = """
import os, time
if os.fork() == 0:
    began = time.process_time()
    while time.process_time() - began < {}:
        pass
    os._exit(0)
os.wait()
"""


def test_the_time_of_an_ended_child_is_counted(run: Run) -> None:
    burned = processes.cpu_seconds([run(BURN_IN_A_CHILD.format(0.4) + WAIT).pid])
    idle = processes.cpu_seconds([run(WAIT).pid])
    assert 0.35 <= burned - idle <= 1.0


SHARED = """
import mmap, os, sys
memory = mmap.mmap(-1, 64 << 20)
memory.write(b'x' * (64 << 20))
children = {children}
read, write = os.pipe()
for _ in range(children):
    if os.fork() == 0:
        sum(memory[:: mmap.PAGESIZE])
        os.write(write, b'x')
        os.read(0, 1)
        os._exit(0)
for _ in range(children):
    os.read(read, 1)
print('ready', flush=True)
sys.stdin.read()
for _ in range(children):
    os.wait()
"""


def test_shared_memory_is_counted_once(run: Run) -> None:
    alone = processes.pss_bytes([run(SHARED.format(children=0)).pid])
    three = processes.pss_bytes([run(SHARED.format(children=3)).pid])
    assert alone >= 64 * MEGABYTE
    # Each child has a few private megabytes, not another 64.
    assert three - alone < 48 * MEGABYTE


BURN_IN_MANY_CHILDREN = f"""
import threading
def burn():
    while True:
        exec({BURN_IN_A_CHILD.format(0.03)!r})
threading.Thread(target=burn, daemon=True).start()
{WAIT}
"""


def test_the_time_of_a_child_that_ends_meanwhile_is_not_lost(run: Run) -> None:
    pid = run(BURN_IN_MANY_CHILDREN).pid
    seen = [processes.cpu_seconds([pid]) for _ in range(600)]
    assert [one for one, after in itertools.pairwise(seen) if after < one - TICK / 2] == []
    assert seen[-1] > seen[0]
