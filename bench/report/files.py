"""Which files the report is made from.

Of the runs on one machine the newest whole one of the workload `full`: a directory may also
hold some cells that were measured alone, which are not a comparison. Of the runs on three hosts
the newest whose delays show how latency grows; and the newest of each other kind of file.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.report.distance import growth
from bench.report.entries import ONE_THREAD, PREPARED, SIMPLE, TUNED
from bench.report.measured import Asked, Lacking, Measured
from bench.results import SCHEMA, BadResult, parse

# The cells that the page's first sentences and its targets stand on.
ESSENTIAL = [
    *((entry, Asked()) for entry in (SIMPLE, PREPARED, ONE_THREAD, TUNED)),
    *((entry, Asked("fetch")) for entry in (SIMPLE, PREPARED)),
]


@dataclass(frozen=True)
class Sources:
    """What the pages are made from."""

    directory: Path
    local: Measured
    split: Measured | None
    # All whole runs of the same workload on the machine of `local`, itself included, the newest first;
    kept: list[Measured]
    # The newest whole run of each other machine and topology.
    elsewhere: list[Measured]

    @property
    def runs(self) -> list[Measured]:
        """and of these the ones of its commit, which are pooled."""
        return [one for one in self.kept if one.result.commit == self.local.result.commit]

    def other(self, kind: str) -> Any:
        """The newest file KIND.json, as JSON."""
        found = newest(self.directory, f"{kind}.json")
        if not found:
            raise Lacking(f"there is no {kind}.json in any directory of {self.directory.name}")
        return json.loads((found / f"{kind}.json").read_text())

    def has(self, kind: str) -> bool:
        """Whether there is a file KIND.json."""
        return newest(self.directory, f"{kind}.json") is not None


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
    """The essential cells without figures."""
    return [
        f"{entry.label}: {asked.request}, {asked.clients} clients"
        for entry, asked in ESSENTIAL
        if not measured.cell(entry, asked)
    ]


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
    return Sources(directory, whole[0], apart[0] if apart else None, same, elsewhere)
