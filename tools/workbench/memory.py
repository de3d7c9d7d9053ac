"""What a process and its children take: the most anonymous memory while they work, less what it had."""

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
    """The most anonymous memory of a process while this is open, less what it has at first.

    The processes that it has started count too: a backend's training has a separate one.
    Anonymous is what the process has allocated; PostgreSQL's shared buffers and the pages of
    libraries are not. It is read a hundred times per second.
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
