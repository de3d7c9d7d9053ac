"""What a run says of itself: one line for each thing done, with the time that is left.

A line is never written over, so a log reads as a terminal does.
"""

import time


class Progress:
    """Counts measured runs; the estimate is the mean of those that are done."""

    def __init__(self, runs: int) -> None:
        self._runs = runs
        self._done = 0
        self._began: float | None = None

    def say(self, text: str) -> None:
        """Something that is not a measured run."""
        print(f"    {text}", flush=True)
        # The first run begins when the last preparation before it ends.
        self._began = time.monotonic() if self._done == 0 else self._began

    def done(self, text: str) -> None:
        """A measured run."""
        self._done += 1
        print(f"[{self._done}/{self._runs}, {self.left()} left] {text}", flush=True)

    def left(self) -> str:
        """How much longer, from the runs so far."""
        if self._began is None or self._done == 0:
            return "unknown"
        each = (time.monotonic() - self._began) / self._done
        minutes = each * (self._runs - self._done) / 60
        return "under a minute" if minutes < 1 else f"{minutes:.0f} min"
