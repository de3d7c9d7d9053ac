"""What a run says of itself: one line for each thing done, with the time that is left.

A line is never written over, so a log reads as a terminal does.
"""

import time


class Progress:
    """Counts measured runs and their planned seconds, of which the estimate is made."""

    def __init__(self) -> None:
        self._runs = 0
        self._done = 0
        self._seconds_left = 0.0
        self._seconds_done = 0.0
        self._taken = 0.0
        self._before = time.monotonic()

    def expect(self, seconds: float) -> None:
        """A run is to come, and how long it should take."""
        self._runs += 1
        self._seconds_left += seconds

    def dismiss(self, seconds: float) -> None:
        """A run that was expected does not come."""
        self._runs -= 1
        self._seconds_left -= seconds

    def say(self, text: str) -> None:
        """Something that is not a measured run."""
        print(f"    {text}", flush=True)
        self._before = time.monotonic()

    def done(self, text: str, seconds: float) -> None:
        """A measured run, and how long it should have taken."""
        now = time.monotonic()
        self._taken += now - self._before
        self._before = now
        self._done += 1
        self._seconds_done += seconds
        self._seconds_left -= seconds
        print(f"[{self._done}/{self._runs}, {self.left()} left] {text}", flush=True)

    def left(self) -> str:
        """How much longer, from what the runs so far took beside what was planned."""
        if not self._seconds_done:
            return "unknown"
        minutes = self._seconds_left * self._taken / self._seconds_done / 60
        return "under a minute" if minutes < 1 else f"{minutes:.0f} min"
