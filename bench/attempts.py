"""The parts of a long run: each is tried, what fails is noted and the others go on; and how long is left.

An hour's measurements are not to be lost for one service that does not start. Answers that differ are
another matter (`Different`): nothing that was measured beside them could be believed, so the run ends.
"""

import time
from collections.abc import Callable
from typing import TypeVar

from bench.generators.caller import Different
from bench.hosts import ROOT

Value = TypeVar("Value")


class Attempts:
    """Parts by their names, of a run that is thought to take so long."""

    def __init__(self, planned_seconds: float) -> None:
        # Why, in a line.
        self.failed: dict[str, str] = {}
        self._planned, self._done = planned_seconds, 0.0
        self._began = time.monotonic()

    def make(self, name: str, part: Callable[[], Value], planned: float = 0.0) -> Value | None:
        """What the part gives; None where it fails, or one of its name has failed before."""
        try:
            return None if name in self.failed else part()
        except Different:
            raise
        except Exception as error:
            # A result may be published: it does not say where the repository lay.
            said = f"{type(error).__name__}: {error}".replace(f"{ROOT}/", "")
            self.failed[name] = " ".join(said.split())
            self.say(f"FAILED, and left out: {name}: {self.failed[name]}")
            return None
        finally:
            self._done += planned

    def left(self) -> str:
        """How much longer: the rest of the plan, at the pace so far."""
        pace = (time.monotonic() - self._began) / self._done if self._done else 1.0
        minutes = max(0.0, self._planned - self._done) * pace / 60
        return "under a minute" if minutes < 1 else f"{minutes:.0f} min"

    def say(self, text: str) -> None:
        """A line of progress."""
        print(f"[{self.left()} left] {text}", flush=True)
