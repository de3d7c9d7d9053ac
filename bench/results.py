"""The schema of the result file, its writer and its reader.

The classes are the schema: `parse` rejects a file with a missing or unknown field or another type, so that a
page cannot silently lack a number.
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

# The keys of a run's latency_ms; those that the load generator does not report are missing.
LATENCIES = ("mean", "p50", "p90", "p95", "p99", "p99_9", "max")

# A run is starved if its server used less than this share of the cores that the same entry used in any run
# with as many clients. With fewer than MIN_CLIENTS, cores are idle anyway.
MIN_SHARE_OF_CORES = 0.7
MIN_CLIENTS = 5


class BadResult(Exception):
    """A file that is not a valid result; the message names the field."""


@dataclass(frozen=True)
class Loading:
    """The loading of one source of features."""

    what: str
    rows: int
    seconds: float
    bytes: int


@dataclass(frozen=True)
class Checked:
    """The comparison of all answers before the timing."""

    trees: int
    keys: int
    # The number of answers that were equal bit for bit, by the way of asking.
    compared: dict[str, int]


@dataclass(frozen=True)
class Training:
    """One training on the table, timed from the call to the model, reading the rows included."""

    what: str
    rows: int
    features: int
    rounds: int
    threads: int
    seconds: float
    # Peak memory of the training process, less its memory before.
    peak_bytes_above_idle: int


@dataclass(frozen=True)
class RoundTrip:
    """The round-trip time between two hosts, measured before anything else."""

    # The names of the hosts, and the protocol: "icmp" or "tcp".
    source: str
    target: str
    via: str
    # The delay of the link, one way; None if none was set.
    delay_ms: float | None
    p50_us: float
    p99_us: float
    samples: int


@dataclass(frozen=True)
class Topology:
    """The hosts of the roles, and the distances between them."""

    name: str
    # server (PostgreSQL, PgBouncer, Gunicorn), store (Redis) and client (load generators): a host's name.
    roles: dict[str, str]
    # `record.facts` of each host, by its name.
    hosts: dict[str, dict[str, str]]
    # Settings of the links, such as their delay.
    settings: dict[str, Any]
    round_trips: list[RoundTrip]


@dataclass(frozen=True)
class OpenLoop:
    """A fixed-rate run's adherence to its schedule, in requests."""

    scheduled: int
    # Sent more than a millisecond after their time.
    late: int
    # Not answered, or not even sent, at the end.
    skipped: int
    # Whether few enough were skipped for the latencies to be those of the rate.
    kept_up: bool


@dataclass(frozen=True)
class Figures:
    """A load generator's figures."""

    requests: int
    # Answered requests, also at a fixed rate.
    requests_per_second: float
    # Latency starts when the request was due at a fixed rate, else when it was sent.
    latency_ms: dict[str, float]
    # The number of requests that the percentiles are computed from; 0 without percentiles.
    latency_requests: int
    # None in a closed loop.
    open_loop: OpenLoop | None


@dataclass(frozen=True)
class Usage:
    """The resources used during a run."""

    seconds: float
    # All processes of the servers.
    server: Used
    # The same by part: postgres, pgbouncer, gunicorn, redis.
    server_parts: dict[str, Used]
    generator: Used
    # The process that carries packets between hosts, if there is one.
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
    # The number of measurements; 0 if unknown.
    count: int = field(default=0, compare=False)

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        return cls(statistics.median(values), min(values), max(values), len(values))


def ratio(values: Sequence[float], controls: Sequence[float]) -> Spread:
    """Summarizes the ratios within each repetition."""
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
    # Scheduled requests per second; None for a closed loop.
    rate: int | None
    # The delay of the links between hosts, one way; None if none was set.
    delay_ms: float | None
    predictions_per_request: int
    # Why there is no run.
    skipped: str | None
    runs: list[Run]
    # Summaries over the runs, of latencies those that all runs have.
    requests_per_second: Spread | None
    latency_ms: dict[str, Spread]
    # The indices of runs in which a server did not have all of its cores.
    starved: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Recomputes the summaries from the runs, also for files that are read."""
        rates = [run.requests_per_second for run in self.runs]
        found = {name: [run.latency_ms.get(name) for run in self.runs] for name in LATENCIES}
        found = {name: ms for name, ms in found.items() if ms and None not in ms}
        latency = {name: Spread.of(ms) for name, ms in found.items()}
        object.__setattr__(self, "requests_per_second", Spread.of(rates) if rates else None)
        object.__setattr__(self, "latency_ms", latency)


def _load(cell: CellResult) -> tuple[Any, ...] | None:
    """Returns the key by which servers' use of cores is compared, whatever the model.

    None where it is not comparable: at a rate, with few clients, or without predictions.
    """
    if cell.rate is not None or cell.clients < MIN_CLIENTS or not cell.predictions_per_request:
        return None
    return cell.system, cell.variant, cell.request, cell.clients, cell.delay_ms


def mark_starved(cells: Sequence[CellResult]) -> None:
    """Marks the runs of these cells in which a server did not have all of its cores."""
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

    # Missing or unknown fields and other types are errors, here and in nested classes.
    __pydantic_config__: ClassVar = {"extra": "forbid", "strict": True}

    schema: int
    started: str
    finished: str
    # The commit of this repository, with "+" where files differed from it.
    commit: str
    # The machine that the harness ran on; `topology` has the hosts'.
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
        """Recomputes the marks, since those in a file may follow an older rule."""
        mark_starved(self.cells)


RAW = "raw"


def new_directory(parent: Path, name: str) -> Path:
    """Creates a directory NAME/TIME for a result, so that none is overwritten."""
    while True:
        path = parent / name / f"{datetime.datetime.now(datetime.UTC):%Y-%m-%dT%H%M%S}"
        try:
            path.mkdir(parents=True)
            return path
        except FileExistsError:
            time.sleep(1)


def pack_raw(directory: Path) -> None:
    """Packs the load generators' reports into one reproducible archive."""
    if not (directory / RAW).is_dir():
        return

    def plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        nobody = {"uid": 0, "gid": 0, "uname": "", "gname": "", "deep": False}
        return entry.replace(mtime=0, mode=0o755 if entry.isdir() else 0o644, **nobody)

    with tarfile.open(directory / f"{RAW}.tar.xz", "w:xz") as archive:
        archive.add(directory / RAW, RAW, filter=plain)
    shutil.rmtree(directory / RAW)


def write_json(path: Path, value: dict[str, Any]) -> None:
    """Writes a record atomically, so that no page is made of a part of one."""
    part = path.with_suffix(".part")
    part.write_text(json.dumps(value, indent=1) + "\n")
    part.replace(path)


def write(path: Path, result: Result) -> None:
    """Validates the result by parsing its text, and writes the file."""
    value = asdict(result)
    parse(json.dumps(value))
    write_json(path, value)


def parse(text: str) -> Result:
    # Imported here because hosts without pydantic import this module too.
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
