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

from bench.report.computed import growth
from bench.report.measured import (
    PREPARED,
    SIMPLE,
    Measured,
    MissingFigure,
    RequestSpec,
    entry,
    pooled,
)
from bench.results import SCHEMA, BadResult, parse

# The entries whose main figure the pages' first sentences need.
ESSENTIAL = (SIMPLE, PREPARED, entry("asgi", "http"))
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
        """Returns the newest KIND.json of this machine and the topology `local`, or None."""
        machine = self.local.result.machine
        for path in sorted(self.directory.rglob(f"{kind}.json"), key=_dated, reverse=True):
            value = json.loads(path.read_text())
            known = value.get("machine", machine)
            same = all(known.get(fact) == machine.get(fact) for fact in ("processor", "cores"))
            if same and value.get("topology", "local") == "local":
                return path
        return None


def _dated(path: Path) -> str:
    """Returns the name of a run's directory, which begins with its date."""
    return path.parent.name


def newest(directory: Path, file: str) -> Path | None:
    """Returns the newest directory with that file."""
    found = max(directory.rglob(file), key=_dated, default=None)
    return found and found.parent


def _read(path: Path, directory: Path) -> Measured | None:
    """Reads a result; returns None for one of an older schema."""
    text, name = path.read_text(), str(path.parent.relative_to(directory))
    if json.loads(text).get("schema") != SCHEMA:
        return None
    try:
        return Measured(parse(text), name)
    except BadResult as error:
        raise BadResult(f"{name}: {error}") from error


def _lacks(one: Measured) -> str:
    return "; ".join(entry.label for entry in ESSENTIAL if not one.cell(entry, RequestSpec()))


def sources(directory: Path, local: str | None = None) -> Sources | None:
    """Reads bench/results/; returns None without a full run. `local` names the run to use."""
    read = filter(None, (_read(path, directory) for path in directory.rglob("results.json")))
    found = sorted(read, key=lambda one: (one.result.started, one.name), reverse=True)
    full = [
        one
        for one in found
        if one.result.topology.name == "local"
        and (one.name == local if local else one.result.workload["name"] == "full")
    ]
    if not full:
        if local:
            raise MissingFigure(f"no result of schema {SCHEMA} is called {local}")
        return None
    whole = [one for one in full if not _lacks(one)]
    if not whole:
        raise MissingFigure(f"{full[0].name} has no figures of {_lacks(full[0])}")
    first, *earlier = _pools(whole[0], full)
    split = next(
        (one for one in found if one.result.topology.name == "split" and growth(one)), None
    )
    return Sources(directory, first, split, earlier, all=found)


def _pools(newest: Measured, runs: list[Measured]) -> list[Measured]:
    """Pools the runs comparable with the newest complete one by commit, its own first."""

    def place(one: Measured) -> tuple[Any, ...]:
        facts, result = one.facts, one.result
        return facts["processor"], facts["cores"], result.topology.name, result.workload["rows"]

    pools: dict[str, list[Measured]] = {newest.result.commit: []}
    for one in runs:
        systems = {cell.system for cell in one.result.cells if cell.runs}
        if place(one) == place(newest) and (one is newest or len(systems) >= MIN_SYSTEMS):
            pools.setdefault(one.result.commit, []).append(one)
    return [pooled(several) for several in pools.values()]
