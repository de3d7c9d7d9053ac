"""What is asked of every system: one description that all share.

A request is one of five, each of the first three with a part more than the one before: `ping`, there
and back (SELECT 1, GET /ping); `fetch`, the features of one flight found, nothing predicted (the
same SELECT without predict, POST /features); `hot`, one prediction for the same flight each time, as in 2022;
`random`, one prediction for a flight drawn evenly from the key set; `batch`, predictions
for a hundred flights at once, one of ten such sets.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bench.key_set import PER_BATCH
from data.flights import DEFAULT_SEED

REQUESTS = ("ping", "fetch", "hot", "random", "batch")


@dataclass(frozen=True)
class Cell:
    """One entry of the table: who is asked what, by how many at a time."""

    system: str
    variant: str
    request: str
    trees: int
    clients: int
    # Requests a second that are asked for, whatever comes back; None: a client asks when it was answered.
    rate: int | None = None
    # The delay of the links between hosts, one way; None: as they are. 0.0 is not that: packets
    # take the way of the delayed ones, and are not delayed.
    delay_ms: float | None = None

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
        return {"batch": PER_BATCH, "ping": 0, "fetch": 0}.get(self.request, 1)


@dataclass(frozen=True)
class Workload:
    """The whole description; it goes into every result."""

    name: str
    systems: tuple[str, ...]
    trees: tuple[int, ...]
    # How many clients ask at a time, by request, with the first of the models;
    clients: Mapping[str, tuple[int, ...]]
    # and with the further models, for the hot request alone.
    clients_of_further_models: tuple[int, ...]
    repetitions: int
    seconds: int
    warm_up_seconds: int
    # Before anything is timed every answer to these is compared: all of them in batches,
    keys: int
    # and the first of them one at a time, which takes the published service minutes.
    keys_one_at_a_time: int
    rows: int = 1_000_000
    seed: int = DEFAULT_SEED

    def cells(self, variants: Mapping[str, Sequence[str]]) -> list[Cell]:
        """All cells, given the variants of each system."""
        found = []
        for trees in self.trees:
            first = trees == self.trees[0]
            asked = self.clients if first else {"hot": self.clients_of_further_models}
            found += [
                Cell(system, variant, request, trees, clients)
                for system in self.systems
                for variant in variants[system]
                for request in asked
                for clients in asked[request]
            ]
        return found

    def in_turn(self, cells: Sequence[Cell], repetition: int) -> list[Cell]:
        """The cells in the order of a repetition: another each time, the same for a seed."""
        order = [*cells]
        random.Random(f"{self.seed} {repetition}").shuffle(order)
        return order


MAIN = (
    "postgres_direct",
    "postgres_pgbouncer",
    "python_published",
    "python_published_one_thread",
    "python_tuned",
)
FURTHER = (
    "postgres_libxgboost",
    "python_memory",
    "python_postgresql",
    "python_orjson",
    "python_msgpack",
)

EVERY = (1, 5, 10, 20, 100)
FEW = (1, 5, 20)

QUICK = Workload(
    "quick", MAIN, (25,), dict.fromkeys(REQUESTS, FEW), (),
    repetitions=1, seconds=2, warm_up_seconds=1, keys=10_000, keys_one_at_a_time=1_000,
    rows=100_000,
)  # fmt: skip
FULL = Workload(
    "full", MAIN + FURTHER, (25, 100, 500, 1_000),
    {"hot": EVERY, "random": (5, 20), "batch": (5,), "ping": FEW, "fetch": EVERY}, (5,),
    repetitions=5, seconds=2, warm_up_seconds=1, keys=10_000, keys_one_at_a_time=10_000,
)  # fmt: skip
WORKLOADS = {workload.name: workload for workload in (QUICK, FULL)}
