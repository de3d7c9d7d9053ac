"""What every system is asked for: workloads.toml, read.

Clients ask in a closed loop, the next request when the last is answered, or at a rate: so many
requests per second, whatever comes back. What is asked is in bench/requests.py.
"""

import fnmatch
import tomllib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any, ClassVar

from pydantic import TypeAdapter

from bench.generators.pgbench import CONNECTING_SECONDS
from bench.requests import REQUESTS
from bench.systems.description import Description
from bench.turns import shuffled
from data.flights import DEFAULT_SEED

FILE = Path(__file__).parent / "workloads.toml"
TREES = 25
AS_THEY_ARE = "as they are"
# What a load generator takes to start, connect and report, measured.
AROUND_A_RUN_SECONDS = 0.4
# What is asked so early is not counted: connections are being made, and backends fill their caches.
# Sixty connections and more are made in a second on two cores.
SETTLING_SECONDS = 1
CONNECTIONS_A_SECOND = 60


@dataclass(frozen=True)
class Cell:
    """One entry of the table: who is asked what, by how many at a time."""

    system: str
    variant: str
    request: str
    trees: int
    clients: int
    # Requests per second that are due; None: a closed loop.
    rate: int | None = None
    # The delay of the links between hosts, one way; None: as they are. 0.0 is not that: packets
    # take the way of the delayed ones, and are not delayed.
    delay_ms: float | None = None
    # In how many of the repetitions it is measured; None: in all.
    turns: int | None = field(default=None, compare=False)

    @property
    def name(self) -> str:
        """What `--only` matches."""
        parts = (self.system, self.variant, self.request, f"{self.trees}t", f"{self.clients}c")
        rate = f"/{self.rate}r" if self.rate else ""
        delay = "" if self.delay_ms is None else f"/{self.delay_ms:g}ms"
        return "/".join(parts) + rate + delay

    @property
    def predictions(self) -> int:
        """How many a request asks for."""
        return REQUESTS[self.request].predictions

    @property
    def settling_seconds(self) -> int:
        """How long it is asked before what counts."""
        return SETTLING_SECONDS + self.clients // CONNECTIONS_A_SECOND


@dataclass(frozen=True)
class Set:
    """Cells of one kind: every combination of what is named."""

    __pydantic_config__: ClassVar = {"extra": "forbid"}

    requests: tuple[str, ...]
    clients: tuple[int, ...]
    trees: tuple[int, ...] = (TREES,)
    rates: tuple[int | None, ...] = (None,)
    plain: bool = False
    systems: tuple[str, ...] = ()
    turns: int | None = None

    def _variants(self, name: str, system: Description) -> list[str]:
        """The plain one, or all; one that takes its own sets is asked those alone."""
        own = [one for one, variant in system.variants.items() if name in variant.takes]
        rest = [one for one, variant in system.variants.items() if not variant.takes]
        return own or rest[: 1 if self.plain else None]

    def cells(self, name: str, systems: Mapping[str, Description]) -> list[Cell]:
        """Those of the systems that take a set of this name."""
        return [
            Cell(system.name, variant, request, trees, clients, rate, turns=self.turns)
            for trees, system in product(self.trees, systems.values())
            if any(fnmatch.fnmatch(system.name, pattern) for pattern in self.systems)
            or (not self.systems and name in system.all_takes)
            for variant in self._variants(name, system)
            for request, clients, rate in product(self.requests, self.clients, self.rates)
        ]


@dataclass(frozen=True)
class Workload:
    """One of workloads.toml, where its fields are described; it goes into every result."""

    __pydantic_config__: ClassVar = {"extra": "forbid"}

    name: str
    cells: dict[str, Set]
    repetitions: int
    seconds: int
    seconds_at_a_rate: int
    warm_up_seconds: int
    keys: int
    keys_one_at_a_time: int
    training_rounds: int
    trainings: int
    preparation_seconds: int
    delays_ms: tuple[float | None, ...] = (None,)
    topology: str = "local"
    rows: int = 1_000_000
    seed: int = DEFAULT_SEED

    def cells_of(self, systems: Mapping[str, Description]) -> list[Cell]:
        """All cells, each once, those of a model together."""
        # A cell of two sets has the turns of the one with more.
        sets = sorted(self.cells.items(), key=lambda item: -(item[1].turns or self.repetitions))
        found = dict.fromkeys(cell for name, one in sets for cell in one.cells(name, systems))
        delayed = [replace(cell, delay_ms=delay) for cell in found for delay in self.delays_ms]
        return sorted(delayed, key=lambda cell: cell.trees)

    def turns(self, cell: Cell) -> int:
        """In how many repetitions a cell is measured: in the first ones."""
        return min(cell.turns or self.repetitions, self.repetitions)

    def in_turn(self, cells: Sequence[Cell], repetition: int) -> list[Cell]:
        """The cells that have a turn, in the order of a repetition: another each time, the same for a seed.

        Of cells that differ in their rate alone the slower ones come first: one that
        cannot be sustained need not be followed by faster ones.
        """
        due = [cell for cell in cells if cell.turns is None or repetition < cell.turns]
        order = shuffled(due, repetition, self.seed)
        rising = defaultdict(list)
        for cell in sorted(order, key=lambda cell: cell.rate or 0):
            rising[replace(cell, rate=None), cell.rate is None].append(cell)
        return [rising[replace(cell, rate=None), cell.rate is None].pop(0) for cell in order]

    def planned_seconds(self, cell: Cell) -> float:
        """How long a run of a cell takes, with all that belongs to it."""
        at_a_rate = self.seconds_at_a_rate + CONNECTING_SECONDS
        lasts = self.seconds if cell.rate is None else at_a_rate
        return cell.settling_seconds + lasts + AROUND_A_RUN_SECONDS

    def planned_minutes(self, cells: Sequence[Cell]) -> float:
        """How long these take on two cores, the preparation included."""
        runs = sum(self.turns(cell) * self.planned_seconds(cell) for cell in cells)
        return (self.preparation_seconds + runs) / 60


def _workload(name: str, every: dict[str, Any]) -> Workload:
    known = every[name]
    known = {"name": name} | every.get(known.pop("like", ""), {}) | known
    delays = known.get("delays_ms", [AS_THEY_ARE])
    known["delays_ms"] = [None if delay == AS_THEY_ARE else delay for delay in delays]
    return TypeAdapter(Workload).validate_python(known)


_KNOWN = tomllib.loads(FILE.read_text())
WORKLOADS = {name: _workload(name, _KNOWN) for name in _KNOWN}
