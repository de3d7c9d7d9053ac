"""What a tree of processes uses, read from /proc.

CPU time is exact whatever happens in between: a process that ends leaves its time to
the parent that waits for it, and the kernel keeps that apart as the time of waited-for
children. So the sum over a living tree never loses any. Memory is the proportional
set size: a page that several processes share counts for each with its part, so the sum over
a tree counts shared memory once.
"""

import os
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
TICKS = os.sysconf("SC_CLK_TCK")
SAMPLE_SECONDS = 0.5

# Places in /proc/<pid>/stat, counted from the field after the program's name.
_STATE, _PARENT = 0, 1
_TIMES = slice(11, 15)
# Between two looks lies so many times what a look takes.
SAMPLE_COSTS = 20

# The roots of each part of a system.
Trees = Mapping[str, Sequence[int]]


def _living() -> dict[int, list[str]]:
    """Every process's fields; one that ends while this looks is left out."""
    found = {}
    for entry in PROC.iterdir():
        if entry.name.isdecimal():
            try:
                # The name may hold blanks and brackets; the last bracket ends it.
                found[int(entry.name)] = (entry / "stat").read_text().rpartition(")")[2].split()
            except (FileNotFoundError, ProcessLookupError):
                continue
    return found


def _tree(roots: Iterable[int], living: dict[int, list[str]]) -> list[int]:
    children = defaultdict(list)
    for pid, fields in living.items():
        children[int(fields[_PARENT])].append(pid)
    reached, waiting = [], [pid for pid in dict.fromkeys(roots) if pid in living]
    while waiting:
        pid = waiting.pop()
        if pid not in reached:
            reached.append(pid)
            waiting += children[pid]
    return reached


def tree(roots: Iterable[int]) -> list[int]:
    """The processes of that number that run, and all that descend from them."""
    living = _living()
    return [pid for pid in _tree(roots, living) if living[pid][_STATE] not in "ZX"]


def cpu_seconds(roots: Iterable[int]) -> float:
    """Processor time of the trees since they began, ended descendants included."""
    living = _living()
    ticks = (int(t) for pid in _tree(roots, living) for t in living[pid][_TIMES])
    return sum(ticks) / TICKS


def _memory_bytes(pid: int, fields: str) -> int:
    """The sum of the fields whose names begin so; nothing for a process that has ended."""
    try:
        lines = (PROC / str(pid) / "smaps_rollup").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith(fields)) * 1024


def pss_bytes(roots: Iterable[int]) -> int:
    """Memory of the trees, shared pages counted once."""
    return sum(_memory_bytes(pid, "Pss:") for pid in tree(roots))


def private_bytes(pid: int) -> int:
    """Memory that no other process has, clean and dirty."""
    return _memory_bytes(pid, "Private_")


@dataclass(frozen=True)
class Used:
    """What some processes used during a run: processor time, and the most memory (Pss) at once."""

    cpu_seconds: float
    pss_bytes: int


@dataclass(frozen=True)
class Seen:
    """What some trees used while they were watched: all of them, and each part."""

    total: Used
    parts: dict[str, Used]


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

    def finish(self) -> Seen:
        """What was used since it began."""
        spent = {
            part: cpu_seconds(roots) - self._before[part] for part, roots in self._trees.items()
        }
        self._done.set()
        self.join()
        parts = {part: Used(spent[part], self._largest[part]) for part in self._trees}
        return Seen(Used(sum(spent.values()), self._largest_total), parts)
