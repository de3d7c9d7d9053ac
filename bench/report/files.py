"""Selects the files that the report is made from.

On one machine these are all complete runs of the workload `full` of the newest run's commit, pooled into one;
runs of single cells are no comparison. On three hosts it is the newest run whose delays show how latency
grows. Of each other kind of file it is the newest of the same machine.
"""

import json
from dataclasses import dataclass
from pathlib import Path

from bench.report.computed import growth
from bench.report.measured import (
    ONE_THREAD,
    PREPARED,
    SIMPLE,
    Measured,
    MissingFigure,
    RequestSpec,
    pooled,
)
from bench.results import SCHEMA, BadResult, parse

# The entries whose hot cell the pages' first sentences need.
ESSENTIAL = (SIMPLE, PREPARED, ONE_THREAD)


@dataclass(frozen=True)
class Sources:
    """The results that the pages are made from."""

    directory: Path
    local: Measured
    split: Measured | None
    # The newest complete run of each other machine and topology.
    elsewhere: list[Measured]
    # All runs, the newest first.
    all: list[Measured]

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


def note(run: Path) -> str:
    """Returns the README.md of a run's directory, or an empty string."""
    path = run / "README.md"
    return path.read_text().strip() if path.exists() else ""


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


def place(one: Measured) -> tuple[str, ...]:
    """Returns the server's machine and the topology; figures of different places are not comparable."""
    return one.facts["processor"], one.facts["cores"], one.result.topology.name


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
    first = pooled(
        [
            one
            for one in whole
            if (one.result.commit, place(one)) == (whole[0].result.commit, place(whole[0]))
        ]
    )
    split = next(
        (one for one in found if one.result.topology.name == "split" and growth(one)), None
    )
    shown = {place(one) for one in (first, split) if one}
    rest = {place(one): one for one in reversed(found) if not _lacks(one)}
    return Sources(
        directory, first, split,
        elsewhere=[one for where, one in rest.items() if where not in shown],
        all=found,
    )  # fmt: skip
