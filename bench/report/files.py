"""Which files the report is made from.

Of the runs on one machine all whole ones of the workload `full` of one commit, the newest run's, pooled into
one: a directory may also hold some cells that were measured alone, which are not a comparison. Of the runs on
three hosts the newest whose delays show how latency grows; and the newest of each other kind of file of the
same machine.
"""

import json
from dataclasses import dataclass
from pathlib import Path

from bench.report.computed import growth
from bench.report.measured import (
    ONE_THREAD,
    PREPARED,
    SIMPLE,
    Asked,
    Lacking,
    Measured,
    pooled,
)
from bench.results import SCHEMA, BadResult, parse

# The entries whose hot cell the pages' first sentences stand on.
ESSENTIAL = (SIMPLE, PREPARED, ONE_THREAD)


@dataclass(frozen=True)
class Sources:
    """What the pages are made from."""

    directory: Path
    local: Measured
    split: Measured | None
    # The newest whole run of each other machine and topology.
    elsewhere: list[Measured]
    # Every run there is, the newest first.
    all: list[Measured]

    def other(self, kind: str) -> Path | None:
        """The newest KIND.json of this machine, without a network between hosts; or None."""
        machine = self.local.result.machine
        for path in sorted(self.directory.rglob(f"{kind}.json"), key=_dated, reverse=True):
            value = json.loads(path.read_text())
            known = value.get("machine", machine)
            same = all(known.get(fact) == machine.get(fact) for fact in ("processor", "cores"))
            if same and value.get("topology", "local") == "local":
                return path
        return None


def _dated(path: Path) -> str:
    """What begins with the date of a run."""
    return path.parent.name


def newest(directory: Path, file: str) -> Path | None:
    """The directory with that file whose name begins with the latest date."""
    found = max(directory.rglob(file), key=_dated, default=None)
    return found and found.parent


def note(run: Path) -> str:
    """What a run's directory says of it in words: its README.md; nothing where it has none."""
    path = run / "README.md"
    return path.read_text().strip() if path.exists() else ""


def _read(path: Path, directory: Path) -> Measured | None:
    """A result; None for one of another schema, which was made before this one."""
    text, name = path.read_text(), str(path.parent.relative_to(directory))
    if json.loads(text).get("schema") != SCHEMA:
        return None
    try:
        return Measured(parse(text), name)
    except BadResult as error:
        raise BadResult(f"{name}: {error}") from error


def _lacks(one: Measured) -> str:
    return "; ".join(entry.label for entry in ESSENTIAL if not one.cell(entry, Asked()))


def place(one: Measured) -> tuple[str, ...]:
    """The server's machine, and the topology: figures of two places are not to be compared."""
    return one.facts["processor"], one.facts["cores"], one.result.topology.name


def sources(directory: Path, local: str | None = None) -> Sources | None:
    """The files in bench/results/; None where there is no full run. `local` names one that is to be used."""
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
            raise Lacking(f"no result of schema {SCHEMA} is called {local}")
        return None
    whole = [one for one in full if not _lacks(one)]
    if not whole:
        raise Lacking(f"{full[0].name} has no figures of {_lacks(full[0])}")
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
