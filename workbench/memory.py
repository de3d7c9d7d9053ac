"""What a process takes: the most anonymous memory while it works, less what it had before."""

import threading
from pathlib import Path


class Peak:
    """The most anonymous memory of a process while this is open, less what it has at first.

    Anonymous is what the process has allocated; PostgreSQL's shared buffers and the pages of
    libraries are not. It is looked at a hundred times a second.
    """

    def __init__(self, pid: int | None = None) -> None:
        self.status = Path(f"/proc/{pid or 'self'}/status")
        self.bytes = 0
        self._done = threading.Event()

    def _anonymous(self) -> int:
        for line in self.status.read_text().splitlines():
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) * 1024
        return 0

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
