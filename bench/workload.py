"""What is asked of every system: one description that all share.

A request is one of six, each of the first four with a part more than the one before: `ping`, there
and back (SELECT 1, GET /ping); `fetch`, one flight found, nothing predicted (the same SELECT
of another column, POST /features); `columns`, in SQL alone, the ten features handed to a function that
costs nothing in place of predict; `hot`, one prediction for the same flight each time, as in 2022;
`random`, one prediction for a flight drawn evenly from the key set; `batch`, predictions
for a hundred flights at once, one of ten such sets.

Clients ask in a closed loop, the next request when the last is answered, or at a rate: so many
requests per second, whatever comes back.
"""

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from bench.generators.pgbench import CONNECTING_SECONDS
from bench.key_set import PER_BATCH
from data.flights import DEFAULT_SEED

REQUESTS = ("ping", "fetch", "columns", "hot", "random", "batch")
# What a load generator takes to start, connect and report, measured.
AROUND_A_RUN_SECONDS = 0.4
# What is asked so early is not counted at a rate, nor of SQL: connections are being made, and backends
# fill their caches. A hundred connections take a second to make on two cores.
SETTLING_SECONDS = 1
CONNECTIONS_A_SECOND = 100
# How the names of the systems begin that pgbench asks.
SQL = "postgres_"


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
        return {"batch": PER_BATCH, "ping": 0, "fetch": 0, "columns": 0}.get(self.request, 1)


def settling_seconds(cell: Cell) -> int:
    """How long a cell is asked before what counts."""
    if cell.rate is None and not cell.system.startswith(SQL):
        return 0
    return SETTLING_SECONDS + cell.clients // CONNECTIONS_A_SECOND


@dataclass(frozen=True)
class Group:
    """Cells of one kind: every combination of what is named."""

    systems: tuple[str, ...]
    requests: tuple[str, ...]
    clients: tuple[int, ...]
    trees: tuple[int, ...] = (25,)
    rates: tuple[int | None, ...] = (None,)
    # Those that are named, or all that a system has.
    variants: tuple[str, ...] | None = None

    def cells(self, variants: Mapping[str, Sequence[str]]) -> list[Cell]:
        """All of them, given the variants of each system."""
        return [
            Cell(system, variant, request, trees, clients, rate)
            for trees in self.trees
            for system in self.systems
            for variant in variants[system]
            if self.variants is None or variant in self.variants
            for request in self.requests
            for clients in self.clients
            for rate in self.rates
        ]


@dataclass(frozen=True)
class Workload:
    """The whole description; it goes into every result."""

    name: str
    groups: tuple[Group, ...]
    repetitions: int
    # How long a run is, in a closed loop and at a rate.
    seconds: int
    seconds_at_a_rate: int
    # Before a model's cells each variant of a system is asked for this long and nothing is measured.
    warm_up_seconds: int
    # Before anything is timed every answer to these is compared: all of them in batches,
    keys: int
    # and the first of them one at a time, which takes the published service minutes: with the
    # first of the models, and with each further one.
    keys_one_at_a_time: int
    keys_of_further_models: int
    # Rounds of boosting for each way of training, or 0, and how often each is run.
    training_rounds: int
    trainings: int
    # What precedes the first run and lies between the models on two cores, when all models are trained.
    preparation_seconds: int
    delays_ms: tuple[float | None, ...] = (None,)
    topology: str = "local"
    # Of the tuned service; None: as many as the sweep of this machine has found best.
    workers: int | None = None
    threads: int | None = None
    rows: int = 1_000_000
    seed: int = DEFAULT_SEED

    @property
    def systems(self) -> tuple[str, ...]:
        """All that are asked, each once."""
        return (*dict.fromkeys(name for group in self.groups for name in group.systems),)

    def among(self, systems: Sequence[str], trees: Sequence[int]) -> "Workload":
        """What it asks of some systems, of other models."""
        groups = (
            replace(group, systems=kept, trees=(*trees,))
            for group in self.groups
            if (kept := tuple(name for name in group.systems if name in systems))
        )
        return replace(self, groups=(*groups,))

    def cells(self, variants: Mapping[str, Sequence[str]]) -> list[Cell]:
        """All cells, each once, those of a model together."""
        found = dict.fromkeys(cell for group in self.groups for cell in group.cells(variants))
        delayed = [replace(cell, delay_ms=delay) for cell in found for delay in self.delays_ms]
        return sorted(delayed, key=lambda cell: cell.trees)

    def in_turn(self, cells: Sequence[Cell], repetition: int) -> list[Cell]:
        """The cells in the order of a repetition: another each time, the same for a seed.

        Of cells that differ in their rate alone the slower ones come first: one that
        cannot be held need not be followed by faster ones.
        """
        order = [*cells]
        random.Random(f"{self.seed} {repetition}").shuffle(order)
        rising = defaultdict(list)
        for cell in sorted(order, key=lambda cell: cell.rate or 0):
            rising[replace(cell, rate=None), cell.rate is None].append(cell)
        return [rising[replace(cell, rate=None), cell.rate is None].pop(0) for cell in order]

    def keys_alone(self, trees: int) -> int:
        """How many keys are asked for one at a time before a model's cells are measured."""
        return (
            self.keys_one_at_a_time
            if trees == self.groups[0].trees[0]
            else self.keys_of_further_models
        )

    def planned_seconds(self, cell: Cell) -> float:
        """How long a run of a cell takes, with all that belongs to it."""
        at_a_rate = self.seconds_at_a_rate + CONNECTING_SECONDS
        lasts = self.seconds if cell.rate is None else at_a_rate
        return settling_seconds(cell) + lasts + AROUND_A_RUN_SECONDS

    def planned_minutes(self, cells: Sequence[Cell]) -> float:
        """How long these take on two cores, the preparation included."""
        runs = self.repetitions * sum(map(self.planned_seconds, cells))
        return (self.preparation_seconds + runs) / 60


POSTGRES = ("postgres_direct", "postgres_pgbouncer")
ONE_THREAD, TUNED = "python_published_one_thread", "python_tuned"
MAIN = (*POSTGRES, "python_published", ONE_THREAD, TUNED)
IN_THE_SERVER = ("postgres_libxgboost", "postgres_plpython")
FURTHER = (
    *IN_THE_SERVER, "python_tuned_3_2", "python_memory", "python_postgresql", "python_orjson",
    "python_msgpack",
)  # fmt: skip

EVERY = (1, 5, 10, 20, 100)
FEW = (1, 5, 20)
# The same for all systems; the last two are for those that have held the others.
RATES = (1_000, 2_000, 3_000, 10_000, 30_000)
# Of SQL the one that is sent by default.
PLAIN = ("simple", "http")

QUICK = Workload(
    "quick",
    (
        Group(MAIN, ("hot",), FEW),
        Group(MAIN, ("ping", "fetch"), (1, 20)),
        Group(POSTGRES, ("columns",), (1, 20)),
        Group(MAIN, ("random",), (20,)),
        Group(MAIN, ("batch",), (5,)),
        Group(MAIN, ("hot",), (20,), rates=(2_000, 10_000), variants=PLAIN),
    ),
    repetitions=1, seconds=2, seconds_at_a_rate=2, warm_up_seconds=1, keys=10_000,
    keys_one_at_a_time=1_000, keys_of_further_models=1_000, training_rounds=25, trainings=1,
    preparation_seconds=60, rows=100_000,
)  # fmt: skip
FULL = Workload(
    "full",
    (
        Group((*POSTGRES, ONE_THREAD, TUNED), ("hot",), EVERY),
        Group(MAIN, ("hot",), FEW),
        Group(MAIN, ("random",), (20,)),
        Group(MAIN, ("batch",), (5,)),
        Group(MAIN, ("ping", "fetch"), (1, 20)),
        # The controls of PostgreSQL's hot cells.
        Group(POSTGRES, ("columns",), EVERY),
        Group(POSTGRES, ("fetch",), FEW),
        Group(FURTHER, ("hot",), (20,)),
        Group(
            ("postgres_direct", *IN_THE_SERVER, ONE_THREAD, TUNED), ("hot",), (5,),
            trees=(25, 100, 500, 1_000), variants=PLAIN,
        ),
        Group(MAIN, ("hot",), (20,), rates=RATES, variants=PLAIN),
    ),
    repetitions=5, seconds=2, seconds_at_a_rate=3, warm_up_seconds=1, keys=10_000,
    keys_one_at_a_time=2_000, keys_of_further_models=1_000, training_rounds=25, trainings=2,
    preparation_seconds=360,
)  # fmt: skip
# The same-zone network of a cloud, laid between three hosts.
SPLIT = replace(
    QUICK,
    name="split",
    groups=(
        Group((*POSTGRES, ONE_THREAD, TUNED, "python_postgresql"), ("hot",), (1, 20)),
        Group(("postgres_direct", TUNED), ("ping",), (20,), variants=PLAIN),
        Group(("postgres_direct", ONE_THREAD, TUNED), ("hot",), (20,), rates=(1_000,), variants=PLAIN),
    ),
    repetitions=2, training_rounds=0, delays_ms=(None, 0.0, 0.1, 0.25, 0.5), topology="split",
)  # fmt: skip
WORKLOADS = {workload.name: workload for workload in (QUICK, FULL, SPLIT)}
