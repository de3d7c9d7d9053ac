"""The systems that are compared, a file a kind, all with the same verbs.

`install` says what versions are there, or what is missing; `start` starts the servers with
the model of so many trees; `load` loads the features, once a run; `check` answers the key
set in each way that is timed; `run` lets a load generator ask for some seconds; `stop`
ends the servers that are the system's own. `lacks` says why a cell cannot be, where it
cannot. What systems share (the cluster, the Redis) belongs to the site.
"""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from bench.answers import Answers
from bench.generators import Figures, Load
from bench.hosts import Usage
from bench.results import Loading
from bench.systems import plpython, postgres, python
from bench.workload import Cell


class System(Protocol):
    """What the harness asks of each."""

    variants: tuple[str, ...]

    def install(self) -> dict[str, str]:
        """The versions of what it runs; an error where something is missing."""

    def start(self, trees: int) -> None:
        """Starts the servers."""

    def load(self) -> list[Loading]:
        """Loads the features, unless done."""

    def check(self) -> dict[str, Answers]:
        """The answers to the key set, by the way they were asked for."""

    def lacks(self, cell: Cell) -> str | None:
        """Why there can be no figure, or None."""

    def run(self, cell: Cell, load: Load) -> tuple[str, Figures, Usage]:
        """The load generator's report, what it says, and what was used."""

    def stop(self) -> None:
        """Stops the servers that `start` started."""

    def configuration(self) -> dict[str, Any]:
        """How it is set up, in full."""


# How each is made for a site, by its name.
Systems = Mapping[str, Callable[[Any], System]]

_KINDS: tuple[Systems, ...] = (postgres.SYSTEMS, plpython.SYSTEMS, python.SYSTEMS)
# Measured when no other system runs: its connections stay, and would count as the others' memory.
APART = frozenset(plpython.SYSTEMS)
SYSTEMS: Systems = {name: make for kind in _KINDS for name, make in kind.items()}
