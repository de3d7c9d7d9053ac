"""Which files the report is made from.

Of the runs on one machine the newest whole one of the workload `full`: a directory may also hold some cells
that were measured alone, which are not a comparison. Of the runs on three hosts the newest whose delays
show how latency grows; and the newest of each other kind of file.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.report.distance import growth
from bench.report.entries import ONE_THREAD, PREPARED, SIMPLE, TUNED
from bench.report.measured import Asked, Lacking, Measured
from bench.results import SCHEMA, BadResult, parse

# The entries whose hot cell the pages' first sentences stand on.
ESSENTIAL = (SIMPLE, PREPARED, ONE_THREAD, TUNED)


@dataclass(frozen=True)
class Sources:
    """What the pages are made from."""

    directory: Path
    local: Measured
    split: Measured | None
    # All whole runs of the same workload on the machine of `local`, itself included, the newest first;
    kept: list[Measured]
    # The newest whole run of each other machine and topology;
    elsewhere: list[Measured]
    # every run there is, that of the page first, then the newest.
    all: list[Measured]

    @property
    def runs(self) -> list[Measured]:
        """and of these the ones of its commit, which are pooled."""
        return [one for one in self.kept if one.result.commit == self.local.result.commit]

    def other(self, kind: str) -> dict[str, Any] | None:
        """The newest file KIND.json of this machine, without a network between hosts; None: there is none."""
        for path in sorted(self.directory.rglob(f"{kind}.json"), key=_dated, reverse=True):
            value = json.loads(path.read_text())
            known = value.get("machine", self.local.result.machine)
            if value.get("topology", "local") == "local" and _same(
                known, self.local.result.machine
            ):
                return value
        return None


def _dated(path: Path) -> str:
    """What begins with the date of a run."""
    return path.parent.name


def _same(one: dict[str, str], other: dict[str, str]) -> bool:
    """Whether these are facts of machines of one kind."""
    return all(one.get(name) == other.get(name) for name in ("processor", "cores"))


def newest(directory: Path, file: str) -> Path | None:
    """The directory with that file whose name begins with the latest date."""
    found = [path.parent for path in directory.rglob(file)]
    return max(found, key=lambda path: path.name, default=None)


def _read(path: Path, directory: Path) -> Measured | None:
    """A result; None for one of another schema, which was made before this one."""
    text = path.read_text()
    if json.loads(text).get("schema") != SCHEMA:
        return None
    try:
        return Measured(parse(text), str(path.parent.relative_to(directory)))
    except BadResult as error:
        raise BadResult(f"{path.parent.relative_to(directory)}: {error}") from error


def _newest(found: list[Measured]) -> list[Measured]:
    return sorted(found, key=lambda one: (one.result.started, one.name), reverse=True)


def lacks(measured: Measured) -> list[str]:
    """The essential entries without figures."""
    return [one.label for one in ESSENTIAL if not measured.cell(one, Asked())]


def _place(one: Measured) -> tuple[str, ...]:
    """The server's machine, and the topology."""
    topology = one.result.topology
    facts = topology.hosts[topology.roles["server"]]
    return facts["processor"], facts["cores"], topology.name


def sources(directory: Path, local: str | None = None) -> Sources | None:
    """The files in bench/results/; None where there is no full run. `local` names one that is to be used."""
    read = [_read(path, directory) for path in sorted(directory.rglob("results.json"))]
    found = _newest([one for one in read if one])
    here = [one for one in found if one.result.topology.name == "local"]
    full = [
        one
        for one in here
        if (one.name == local if local else one.result.workload["name"] == "full")
    ]
    if not full:
        if local:
            raise Lacking(f"no result of schema {SCHEMA} is called {local}")
        return None
    whole = [one for one in full if not lacks(one)]
    if not whole:
        raise Lacking(f"{full[0].name} lacks {'; '.join(lacks(full[0]))}")
    apart = [one for one in found if one.result.topology.name == "split" and growth(one)]
    shown = {_place(whole[0]), *(_place(one) for one in apart[:1])}
    rest = {_place(one): one for one in reversed(found) if not lacks(one)}
    same = [one for one in whole if _place(one) == _place(whole[0])]
    elsewhere = [one for place, one in rest.items() if place not in shown]
    every = sorted(found, key=lambda one: one is not whole[0])
    return Sources(directory, whole[0], apart[0] if apart else None, same, elsewhere, every)
