"""What a comparison of builds leaves: pgo.json in a directory of its own below bench/results/."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

FILE = "pgo.json"
# The release build, the same once more, and the one optimised by a profile.
PLAIN, CONTROL, OPTIMISED = "plain", "control", "optimised"
SERVERS = (PLAIN, CONTROL, OPTIMISED)


@dataclass(frozen=True)
class Run:
    """What one server did within one round."""

    # Transactions or rows a second.
    throughput: float
    # Of single requests: mean, p50, p99 and max. A run of a few scans has no p99.
    latency_ms: dict[str, float]
    requests: int


@dataclass(frozen=True)
class Cell:
    """One query asked in one way: of each server its runs, round by round."""

    name: str
    # What is counted a second.
    unit: str
    runs: dict[str, list[Run]]


@dataclass(frozen=True)
class Plan:
    """How many rounds, how long pgbench asks in each, of how many flights."""

    rounds: int
    seconds: int
    rows: int


@dataclass(frozen=True)
class Comparison:
    """The whole file."""

    date: str
    commit: str
    machine: dict[str, str]
    # Compiler, profile tool, PostgreSQL and XGBoost.
    versions: dict[str, str]
    plan: Plan
    # Of the libraries, by build.
    bytes: dict[str, int]
    cells: list[Cell]


def write(path: Path, comparison: Comparison) -> None:
    """Writes the file."""
    path.write_text(json.dumps(asdict(comparison), indent=1) + "\n")


def _cell(found: dict[str, Any]) -> Cell:
    runs = {name: [Run(**run) for run in found["runs"][name]] for name in SERVERS}
    return Cell(found["name"], found["unit"], runs)


def read(path: Path) -> Comparison:
    """Reads the file; a field too few or too many is an error."""
    found = json.loads(path.read_text())
    cells = [_cell(cell) for cell in found.pop("cells")]
    return Comparison(**{**found, "plan": Plan(**found["plan"])}, cells=cells)
