"""Selects the files that the report is made from.

On one machine these are all complete runs of the workload `full` of the newest run's commit, pooled into
one; runs of single cells are no comparison. Claims that it has no figures for are looked up in the pools of
earlier commits. On three hosts it is the newest run whose delays show how latency grows. Of each other kind
of file it is the newest of the same machine.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.report import measured
from bench.report.computed import growth
from bench.report.measured import Measured, MissingFigure, RequestSpec
from bench.results import BadResult, parse

# The entries whose main figure the pages' first sentences need.
ESSENTIAL = (measured.SIMPLE, measured.PREPARED, measured.entry("asgi", "http"))
# A full run has more systems than this.
MIN_SYSTEMS = 4


@dataclass(frozen=True)
class Sources:
    """The results that the pages are made from."""

    directory: Path
    local: Measured
    split: Measured | None
    # The full runs of earlier commits with as many rows on the same machine, the newest first.
    earlier: list[Measured]
    # All runs, the newest first.
    all: list[Measured]

    @property
    def comparisons(self) -> list[Measured]:
        """The results in the order in which a figure is looked up."""
        return [self.local, *self.earlier, *([self.split] if self.split else [])]

    def other(self, kind: str) -> Path | None:
        """Returns the newest KIND.json of this machine, or None."""
        machine = self.local.result.machine
        for path in sorted(self.directory.rglob(f"{kind}.json"), key=_dated, reverse=True):
            known = json.loads(path.read_text())["machine"]
            if all(known[fact] == machine[fact] for fact in ("processor", "cores")):
                return path
        return None


def _dated(path: Path) -> str:
    """Returns the name of a run's directory, which begins with its date."""
    return path.parent.name


def newest(directory: Path, file: str) -> Path | None:
    """Returns the newest directory with that file."""
    found = max(directory.rglob(file), key=_dated, default=None)
    return found and found.parent


def _read(path: Path, directory: Path) -> Measured:
    name = str(path.parent.relative_to(directory))
    try:
        return Measured(parse(path.read_text()), name)
    except BadResult as error:
        raise BadResult(f"{name}: {error}") from error


def _lacks(one: Measured) -> str:
    return "; ".join(entry.label for entry in ESSENTIAL if not one.cell(entry, RequestSpec()))


def sources(directory: Path) -> Sources:
    """Reads bench/results/; raises without a complete full run."""
    read = (_read(path, directory) for path in directory.rglob("results.json"))
    found = sorted(read, key=lambda one: (one.result.started, one.name), reverse=True)
    kinds = {one.name: (one.result.topology.name, one.result.workload["name"]) for one in found}
    full = [one for one in found if kinds[one.name] == ("local", "full")]
    whole = [one for one in full if not _lacks(one)]
    if not whole:
        lacking = "; ".join(f"{one.name} has no figures of {_lacks(one)}" for one in full[:1])
        raise MissingFigure(lacking or f"there is no full run in {directory}")
    first, *earlier = _pools(whole[0], full)
    split = (one for one in found if kinds[one.name][0] == "split" and growth(one))
    return Sources(directory, first, next(split, None), earlier, all=found)


def _pools(newest: Measured, runs: list[Measured]) -> list[Measured]:
    """Pools the runs comparable with the newest complete one by commit, its own first."""

    def place(one: Measured) -> tuple[Any, ...]:
        return one.facts["processor"], one.facts["cores"], one.result.workload["rows"]

    pools: dict[str, list[Measured]] = {newest.result.commit: []}
    for one in runs:
        systems = {cell.system for cell in one.result.cells if cell.runs}
        if place(one) == place(newest) and (one is newest or len(systems) >= MIN_SYSTEMS):
            pools.setdefault(one.result.commit, []).append(one)
    return [measured.pooled(several) for several in pools.values()]
