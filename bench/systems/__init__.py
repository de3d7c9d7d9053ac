"""The systems that are compared, a folder each: what they are is data, in its system.toml (README.md).

A system that is measured is made of the class that its description names. What systems share (the
cluster, the Redis) belongs to the site.
"""

import importlib
from collections.abc import Set
from typing import TYPE_CHECKING, Any, Protocol

from bench.systems.description import Description

if TYPE_CHECKING:
    from bench.answers import Answers
    from bench.generators import Figures, Load
    from bench.hosts import Usage
    from bench.results import Loading
    from bench.site import Site
    from bench.workload import Cell


class System(Protocol):
    """What the harness asks of each."""

    def install(self) -> dict[str, str]:
        """The versions of what it runs; an error where something is missing."""

    def load(self) -> list["Loading"]:
        """Loads the features, unless done."""

    def start(self, trees: int) -> None:
        """Starts its servers, with the model of so many trees."""

    def check(self, asked: Set[str]) -> dict[str, "Answers"]:
        """The answers to the key set, by each way of asking that is timed: of these kinds of requests."""

    def lacks(self, cell: "Cell") -> str | None:
        """Why there can be no figure, or None."""

    def run(self, cell: "Cell", load: "Load") -> tuple[str, "Figures", "Usage"]:
        """The load generator's report, what it says, and what was used."""

    def stop(self) -> None:
        """Stops the servers that `start` started."""

    def configuration(self) -> dict[str, Any]:
        """How it is set up, in full."""


def made(description: Description, site: "Site") -> System:
    """The system, for a site; only now its code is imported."""
    kind = getattr(importlib.import_module(description.package), description.kind)
    return kind(site, **description.options)
