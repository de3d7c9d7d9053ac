"""CPU time and memory of process trees, by psutil.

CPU time is exact even if processes end meanwhile: the kernel adds an ended process's time to its parent's
time of waited-for children, so the sum over a living tree loses none. Memory is the proportional set size,
which divides a shared page among its processes, so the sum over a tree counts shared memory once.
"""

import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

import psutil

SAMPLE_SECONDS = 0.5
# The pause between two samples is at least this multiple of a sample's own duration.
SAMPLE_COSTS = 20

# The roots of each part of a system.
Trees = Mapping[str, Sequence[int]]


def _tree(roots: Iterable[int]) -> list[psutil.Process]:
    """Returns the roots and their descendants, zombies included."""
    found = {}
    for pid in roots:
        with suppress(psutil.NoSuchProcess):
            root = psutil.Process(pid)
            found |= {one.pid: one for one in (root, *root.children(recursive=True))}
    return [*found.values()]


def tree(roots: Iterable[int]) -> list[int]:
    """Returns the ids of the running processes among the roots and their descendants."""
    found = []
    for process in _tree(roots):
        with suppress(psutil.NoSuchProcess):
            if process.status() not in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD):
                found.append(process.pid)
    return found


def cpu_seconds(roots: Iterable[int]) -> float:
    """Returns the CPU time of the trees since they started, ended descendants included."""
    while True:
        # Own time and that of waited-for children. A process that ends after its parent was read and before
        # it is read itself would be missed in both: then all are read again.
        with suppress(psutil.NoSuchProcess):
            return sum(sum(process.cpu_times()[:4]) for process in _tree(roots))


def pss_bytes(roots: Iterable[int]) -> int:
    """Returns the memory of the trees, shared pages counted once."""
    total = 0
    for process in _tree(roots):
        with suppress(psutil.NoSuchProcess):
            total += process.memory_full_info().pss
    return total


def private_bytes(pid: int) -> int:
    """Returns the memory that no other process shares (USS)."""
    return psutil.Process(pid).memory_full_info().uss


@dataclass(frozen=True)
class Used:
    """Usage of some processes during a run: CPU time and peak memory (PSS)."""

    cpu_seconds: float
    pss_bytes: int


class Watch(threading.Thread):
    """Measures CPU time and peak memory from its creation to `finish`."""

    def __init__(self, trees: Trees) -> None:
        super().__init__(daemon=True)
        self._trees = trees
        self._done = threading.Event()
        self._largest = dict.fromkeys(trees, 0)
        self._largest_total = 0
        self._before = {part: cpu_seconds(roots) for part, roots in trees.items()}
        self.start()

    def run(self) -> None:
        """Samples the memory until finished."""
        while True:
            began = time.monotonic()
            now = {part: pss_bytes(roots) for part, roots in self._trees.items()}
            self._largest = {part: max(self._largest[part], now[part]) for part in now}
            self._largest_total = max(self._largest_total, sum(now.values()))
            # A sample of a thousand processes is slow and must not occupy a core of the measurement.
            took = time.monotonic() - began
            if self._done.wait(max(SAMPLE_SECONDS, SAMPLE_COSTS * took)):
                return

    def finish(self) -> dict[str, Any]:
        """Returns the usage since the start: `total`, and `parts` by name, as fields of `Used`."""
        spent = {part: cpu_seconds(its) - self._before[part] for part, its in self._trees.items()}
        self._done.set()
        self.join()
        parts = {part: asdict(Used(spent[part], self._largest[part])) for part in self._trees}
        return {"total": asdict(Used(sum(spent.values()), self._largest_total)), "parts": parts}
