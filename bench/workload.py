"""Workloads, read from workloads.toml, and their cells.

Clients send requests in a closed loop, the next one when the last is answered, or at a fixed rate whatever
comes back. bench/requests.py defines the requests.
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
from bench.interleaving import shuffled
from bench.requests import REQUESTS
from bench.systems.description import Description
from data.flights import DEFAULT_SEED

FILE = Path(__file__).parent / "workloads.toml"
TREES = 25
AS_THEY_ARE = "as they are"
# The time a load generator takes to start, connect and report, measured.
AROUND_A_RUN_SECONDS = 0.4
# The start of a run is not counted: connections are being made, and backends fill their caches.
# Two cores make at least sixty connections per second.
SETTLING_SECONDS = 1
CONNECTIONS_A_SECOND = 60


@dataclass(frozen=True)
class Cell:
    """A cell of the table: a system's variant, a request, a model, and the load."""

    system: str
    variant: str
    request: str
    trees: int
    clients: int
    # Scheduled requests per second; None for a closed loop.
    rate: int | None = None
    # The delay of the links between hosts, one way; None for the plain links. With 0.0 packets take the
    # route of the delayed ones without a delay.
    delay_ms: float | None = None
    # The number of repetitions that measure it; None for all.
    turns: int | None = field(default=None, compare=False)

    @property
    def name(self) -> str:
        """The name that `--only` matches."""
        parts = (self.system, self.variant, self.request, f"{self.trees}t", f"{self.clients}c")
        rate = f"/{self.rate}r" if self.rate else ""
        delay = "" if self.delay_ms is None else f"/{self.delay_ms:g}ms"
        return "/".join(parts) + rate + delay

    @property
    def predictions(self) -> int:
        return REQUESTS[self.request].predictions

    @property
    def settling_seconds(self) -> int:
        """The seconds at the start of a run that are not counted."""
        return SETTLING_SECONDS + self.clients // CONNECTIONS_A_SECOND


@dataclass(frozen=True)
class Set:
    """Cells of one kind: every combination of the fields' values."""

    __pydantic_config__: ClassVar = {"extra": "forbid"}

    requests: tuple[str, ...]
    clients: tuple[int, ...]
    trees: tuple[int, ...] = (TREES,)
    rates: tuple[int | None, ...] = (None,)
    plain: bool = False
    systems: tuple[str, ...] = ()
    variants: tuple[str, ...] = ()
    turns: int | None = None

    def _variants(self, name: str, system: Description) -> list[str]:
        """Selects the plain variant, or all; a variant that names its sets takes part in those only."""
        takes = {one: variant.takes for one, variant in system.variants.items()}
        own = [one for one in takes if name in takes[one]]
        rest = [one for one in takes if not takes[one] and one in (self.variants or takes)]
        return own or rest[: 1 if self.plain else None]

    def cells(self, name: str, systems: Mapping[str, Description]) -> list[Cell]:
        """Returns the cells of the systems that take a set of this name."""
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
    """A workload of workloads.toml, which describes the fields; a part of every result."""

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
    preparation_seconds: int
    delays_ms: tuple[float | None, ...] = (None,)
    topology: str = "local"
    rows: int = 1_000_000
    seed: int = DEFAULT_SEED

    @property
    def has_rates(self) -> bool:
        return any(rate for one in self.cells.values() for rate in one.rates)

    def cells_of(self, systems: Mapping[str, Description]) -> list[Cell]:
        """Returns all distinct cells, ordered by model."""
        # A cell of two sets has the repetitions of the one with more.
        sets = sorted(self.cells.items(), key=lambda item: -(item[1].turns or self.repetitions))
        found = dict.fromkeys(cell for name, one in sets for cell in one.cells(name, systems))
        delayed = [replace(cell, delay_ms=delay) for cell in found for delay in self.delays_ms]
        return sorted(delayed, key=lambda cell: cell.trees)

    def turns(self, cell: Cell) -> int:
        """Returns the number of repetitions, the first ones, that measure a cell."""
        return min(cell.turns or self.repetitions, self.repetitions)

    def in_turn(self, cells: Sequence[Cell], repetition: int) -> list[Cell]:
        """Returns the cells of a repetition in its order, which depends on the seed.

        Cells that differ in their rate only are in ascending order, so that faster ones can be skipped
        after one that was not sustained.
        """
        due = [cell for cell in cells if cell.turns is None or repetition < cell.turns]
        order = shuffled(due, repetition, self.seed)
        rising = defaultdict(list)
        for cell in sorted(order, key=lambda cell: cell.rate or 0):
            rising[replace(cell, rate=None), cell.rate is None].append(cell)
        return [rising[replace(cell, rate=None), cell.rate is None].pop(0) for cell in order]

    def planned_seconds(self, cell: Cell) -> float:
        """Returns the duration of a run of a cell, overhead included."""
        at_a_rate = self.seconds_at_a_rate + CONNECTING_SECONDS
        lasts = self.seconds if cell.rate is None else at_a_rate
        return cell.settling_seconds + lasts + AROUND_A_RUN_SECONDS

    def planned_minutes(self, cells: Sequence[Cell]) -> float:
        """Returns the duration of these cells on two cores, preparation included."""
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
