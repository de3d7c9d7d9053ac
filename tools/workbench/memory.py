"""Measures the peak anonymous memory of a process and its children, less that at the start."""

import os
import threading
from pathlib import Path


def _anonymous(pid: int | str) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon:"))


class Peak:
    """A context manager that measures the peak of a process, less its memory on entry.

    Children are included, since a backend trains in a separate process. Anonymous memory is that allocated
    by the process, without PostgreSQL's shared buffers and libraries. It is sampled 100 times per second.
    """

    def __init__(self, pid: int | None = None) -> None:
        self.pid = pid or os.getpid()
        self.bytes = 0
        self._done = threading.Event()

    def _anonymous(self) -> int:
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        return sum(_anonymous(pid) for pid in (self.pid, *children))

    def _watch(self, idle: int) -> None:
        while not self._done.wait(0.01):
            self.bytes = max(self.bytes, self._anonymous() - idle)

    def __enter__(self) -> "Peak":
        self._thread = threading.Thread(target=self._watch, args=(self._anonymous(),))
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()
