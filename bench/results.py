"""The result file: what it holds, how it is written, and that only a whole one is read.

Classes are the schema: `read` refuses a file with a field too few, one too many, or of
another type, so that a page made from it cannot quietly miss a number.
"""

import datetime
import json
import shutil
import statistics
import tarfile
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from bench.processes import Used

SCHEMA = 2

# The names in a run's latency_ms, in milliseconds. A load generator that does not give one leaves it out.
LATENCIES = ("mean", "p50", "p90", "p95", "p99", "p99_9", "max")


# A run in which a server used less of the cores than this share of what the same entry used in any run with
# as many clients did not have the whole server. With fewer clients, cores are idle anyway.
MIN_SHARE_OF_CORES = 0.7
MIN_CLIENTS = 5


class BadResult(Exception):
    """A file that is no result; the message names the place."""


@dataclass(frozen=True)
class Loading:
    """How long one source of features took to load."""

    what: str
    rows: int
    seconds: float
    bytes: int


@dataclass(frozen=True)
class Checked:
    """The comparison of all answers that preceded the timing."""

    trees: int
    keys: int
    # The answers that were equal to the bit: how each was asked for, and how many there were.
    compared: dict[str, int]


@dataclass(frozen=True)
class Training:
    """One way to train on the table: from the call to the model, the reading of the rows included."""

    what: str
    rows: int
    features: int
    rounds: int
    threads: int
    seconds: float
    # The most memory of the process that trains, less what it had before.
    peak_bytes_above_idle: int


@dataclass(frozen=True)
class RoundTrip:
    """The time there and back between two hosts, as measured before anything else."""

    # The names of the roles' hosts, and what carried the question: "icmp", "tcp".
    source: str
    target: str
    via: str
    # The delay of the link, one way, as it was set; None where it was left as it is.
    delay_ms: float | None
    p50_us: float
    p99_us: float
    samples: int


@dataclass(frozen=True)
class Topology:
    """Which host has which role, and how far apart they are."""

    name: str
    # server (PostgreSQL, PgBouncer, Gunicorn), store (Redis) and client (load generators): a host's name.
    roles: dict[str, str]
    # Each host's machine, by its name: what `record.facts` says there.
    hosts: dict[str, dict[str, str]]
    # Anything that was set: the delay of a link, the share of a processor.
    settings: dict[str, Any]
    round_trips: list[RoundTrip]


@dataclass(frozen=True)
class OpenLoop:
    """How well a run at a fixed rate kept to its schedule."""

    # How many requests the schedule had in the time;
    scheduled: int
    # how many of those sent left more than a millisecond after their time,
    late: int
    # and how many were not answered, or not even sent, when the time was over.
    skipped: int
    # Whether so few were skipped that the latencies are those of the rate.
    kept_up: bool


@dataclass(frozen=True)
class Figures:
    """What a load generator measured."""

    requests: int
    # Answered ones, also where the rate is given: what was achieved of it.
    requests_per_second: float
    # At a fixed rate a latency begins when the request was due, else when it was sent.
    latency_ms: dict[str, float]
    # How many single requests the percentiles rest on; 0 where there are none.
    latency_requests: int
    # None in a closed loop.
    open_loop: OpenLoop | None


@dataclass(frozen=True)
class Usage:
    """What was used during a run."""

    seconds: float
    # Of all processes of the servers.
    server: Used
    # The same apart: postgres, pgbouncer, gunicorn, redis. Where there is one, that is all of it.
    server_parts: dict[str, Used]
    generator: Used
    # What carries packets between hosts, where a process does.
    network: Used | None


@dataclass(frozen=True)
class Run(Usage, Figures):
    """One measured run of a cell."""

    # The load generator's own report, in raw.tar.xz next to the result file.
    log: str

    def __post_init__(self) -> None:
        percentiles = {name for name in self.latency_ms if name.startswith("p")}
        if unknown := self.latency_ms.keys() - {*LATENCIES}:
            raise BadResult(f"latency_ms: unknown {', '.join(sorted(unknown))}")
        if bool(percentiles) != bool(self.latency_requests):
            raise BadResult(f"latency_ms: percentiles of {self.latency_requests} requests")


@dataclass(frozen=True)
class Spread:
    """A figure over all runs of a cell."""

    median: float
    smallest: float
    largest: float
    # Of how many measurements; 0 where that is not known.
    count: int = field(default=0, compare=False)

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        """Of one value or more."""
        return cls(statistics.median(values), min(values), max(values), len(values))


def ratio(values: Sequence[float], controls: Sequence[float]) -> Spread:
    """How the one compares with the other, each repetition with itself."""
    return Spread.of([value / other for value, other in zip(values, controls, strict=True)])


@dataclass(frozen=True)
class CellResult:
    """A cell: its runs, or why there are none."""

    name: str
    system: str
    variant: str
    request: str
    trees: int
    clients: int
    # Requests per second that the schedule asks for; None: a closed loop.
    rate: int | None
    # The delay of the links between hosts, one way; None: as they are.
    delay_ms: float | None
    predictions_per_request: int
    # Why there is no run.
    skipped: str | None
    runs: list[Run]
    # Over the runs: the rate, and each latency that all of them have.
    requests_per_second: Spread | None
    latency_ms: dict[str, Spread]
    # The runs, counted from 0, in which a server did not have all of its cores: see `Result`.
    starved: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        """What is known from the runs is reckoned here, of files that are read, too."""
        rates = [run.requests_per_second for run in self.runs]
        found = {name: [run.latency_ms.get(name) for run in self.runs] for name in LATENCIES}
        latency = {
            name: Spread.of(ms) for name, ms in found.items() if self.runs and None not in ms
        }
        object.__setattr__(self, "requests_per_second", Spread.of(rates) if rates else None)
        object.__setattr__(self, "latency_ms", latency)


def _load(cell: CellResult) -> tuple[Any, ...] | None:
    """What a server's cores are compared by, whatever the model.

    None where they say nothing: at a rate, with few clients, where nothing is predicted.
    """
    if cell.rate is not None or cell.clients < MIN_CLIENTS or not cell.predictions_per_request:
        return None
    return cell.system, cell.variant, cell.request, cell.clients, cell.delay_ms


def mark_starved(cells: Sequence[CellResult]) -> None:
    """Reckons which runs of these cells a server had not all of its cores in, of one run alone, too."""
    cores, most = {}, defaultdict(float)
    for cell in filter(_load, cells):
        busy = cores[cell.name] = [run.server.cpu_seconds / run.seconds for run in cell.runs]
        most[_load(cell)] = max([most[_load(cell)], *busy])
    for cell in cells:
        least = MIN_SHARE_OF_CORES * most[_load(cell)]
        busy = enumerate(cores.get(cell.name, ()))
        object.__setattr__(cell, "starved", [place for place, one in busy if one < least])


@dataclass(frozen=True)
class Result:
    """One run of the harness."""

    # A field too few, one too many or of another type is an error, here and in all that this holds.
    __pydantic_config__: ClassVar = {"extra": "forbid", "strict": True}

    schema: int
    started: str
    finished: str
    # The commit of this repository, with "+" where files differed from it.
    commit: str
    # The machine that the harness ran on; those of a topology's hosts are there.
    machine: dict[str, str]
    topology: Topology
    versions: dict[str, str]
    workload: dict[str, Any]
    configuration: dict[str, Any]
    loading: list[Loading]
    training: list[Training]
    checked: list[Checked]
    cells: list[CellResult]

    def __post_init__(self) -> None:
        """Also of files that are read, whose own marks may be of an older rule."""
        mark_starved(self.cells)


RAW = "raw"


def new_directory(parent: Path, name: str) -> Path:
    """A new directory NAME/TIME for a result: every run is kept, none is written over."""
    while True:
        path = parent / name / f"{datetime.datetime.now(datetime.UTC):%Y-%m-%dT%H%M%S}"
        try:
            path.mkdir(parents=True)
            return path
        except FileExistsError:
            time.sleep(1)


def pack_raw(directory: Path) -> None:
    """Makes one archive of the load generators' reports, the same bytes of the same reports."""
    if not (directory / RAW).is_dir():
        return

    def plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        nobody = {"uid": 0, "gid": 0, "uname": "", "gname": "", "deep": False}
        return entry.replace(mtime=0, mode=0o755 if entry.isdir() else 0o644, **nobody)

    with tarfile.open(directory / f"{RAW}.tar.xz", "w:xz") as archive:
        archive.add(directory / RAW, RAW, filter=plain)
    shutil.rmtree(directory / RAW)


def write(path: Path, result: Result) -> None:
    """Writes the file whole, after reading it back in memory as anyone else will."""
    text = json.dumps(asdict(result), indent=1) + "\n"
    parse(text)
    part = path.with_suffix(".part")
    part.write_text(text)
    part.rename(path)


def parse(text: str) -> Result:
    """The result in a file's text."""
    # Hosts without any package of Python's import this file, and read no result.
    from pydantic import TypeAdapter, ValidationError  # noqa: PLC0415

    value = json.loads(text)
    if isinstance(value, dict) and value.get("schema") != SCHEMA:
        raise BadResult(f"schema {value.get('schema')!r}: this reads {SCHEMA}")
    try:
        return TypeAdapter(Result).validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in first["loc"])
        raise BadResult(f"result{''.join(steps)}: {first['msg']}") from None
