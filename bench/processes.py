"""What a tree of processes uses, by psutil.

CPU time is exact whatever happens in between: a process that ends leaves its time to the parent that waits
for it, and the kernel keeps that apart as the time of waited-for children. So the sum over a living tree
never loses any. Memory is the proportional set size: a page that several processes share counts for each
with its part, so the sum over a tree counts shared memory once.
"""

import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

import psutil

SAMPLE_SECONDS = 0.5
# Between two looks lies so many times what a look takes.
SAMPLE_COSTS = 20

# The roots of each part of a system.
Trees = Mapping[str, Sequence[int]]


def _tree(roots: Iterable[int]) -> list[psutil.Process]:
    """The processes of that number, and all that descend from them, ended ones that none waited for too."""
    found = {}
    for pid in roots:
        with suppress(psutil.NoSuchProcess):
            root = psutil.Process(pid)
            found |= {one.pid: one for one in (root, *root.children(recursive=True))}
    return [*found.values()]


def tree(roots: Iterable[int]) -> list[int]:
    """The processes of that number that run, and all that descend from them."""
    found = []
    for process in _tree(roots):
        with suppress(psutil.NoSuchProcess):
            if process.status() not in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD):
                found.append(process.pid)
    return found


def cpu_seconds(roots: Iterable[int]) -> float:
    """Processor time of the trees since they began, ended descendants included."""
    while True:
        # Each one's own, and that of waited-for children: parents come first, so the time of one that has
        # ended between its parent's turn and its own would be in neither. Then this looks again.
        with suppress(psutil.NoSuchProcess):
            return sum(sum(process.cpu_times()[:4]) for process in _tree(roots))


def pss_bytes(roots: Iterable[int]) -> int:
    """Memory of the trees, shared pages counted once."""
    total = 0
    for process in _tree(roots):
        with suppress(psutil.NoSuchProcess):
            total += process.memory_full_info().pss
    return total


def private_bytes(pid: int) -> int:
    """Memory that no other process has, clean and dirty."""
    return psutil.Process(pid).memory_full_info().uss


@dataclass(frozen=True)
class Used:
    """What some processes used during a run: processor time, and the most memory (Pss) at once."""

    cpu_seconds: float
    pss_bytes: int


class Watch(threading.Thread):
    """Takes the processor time from now on, and the largest memory, until it is told to finish."""

    def __init__(self, trees: Trees) -> None:
        super().__init__(daemon=True)
        self._trees = trees
        self._done = threading.Event()
        self._largest = dict.fromkeys(trees, 0)
        self._largest_total = 0
        self._before = {part: cpu_seconds(roots) for part, roots in trees.items()}
        self.start()

    def run(self) -> None:
        """Samples at once, and then again and again."""
        while True:
            began = time.monotonic()
            now = {part: pss_bytes(roots) for part, roots in self._trees.items()}
            self._largest = {part: max(self._largest[part], now[part]) for part in now}
            self._largest_total = max(self._largest_total, sum(now.values()))
            # Of a thousand processes it takes long, and is not to take a core from what is measured.
            took = time.monotonic() - began
            if self._done.wait(max(SAMPLE_SECONDS, SAMPLE_COSTS * took)):
                return

    def finish(self) -> dict[str, Any]:
        """What was used since it began: `total`, and of `parts` each; the fields of Used."""
        spent = {part: cpu_seconds(its) - self._before[part] for part, its in self._trees.items()}
        self._done.set()
        self.join()
        parts = {part: asdict(Used(spent[part], self._largest[part])) for part in self._trees}
        return {"total": asdict(Used(sum(spent.values()), self._largest_total)), "parts": parts}
