"""What every record says of itself, and where it goes: when, of which commit, on which machine.

A comparison's is results.json (results.py); others keep subjects, each a unit and its series' values
in each repetition, which were measured in turn: values at the same place are of the same repetition.
"""

import datetime
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench import machine
from bench.hosts import ROOT
from bench.results import new_directory
from bench.topology import Topology

RESULTS = ROOT / "bench" / "results"


def now() -> str:
    """The time, as results have it."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def commit() -> str:
    """The commit of this repository, with "+" where files differ from it."""

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(ROOT), *arguments]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except FileNotFoundError:
            return machine.UNKNOWN
        return done.stdout.strip() if done.returncode == 0 else machine.UNKNOWN

    found = git("rev-parse", "HEAD")
    changed = found != machine.UNKNOWN and git("status", "--porcelain", "-uno")
    return found + ("+" if changed else "")


def head() -> dict[str, Any]:
    """What every record begins with."""
    return {"schema": 1, "started": now(), "commit": commit(), "machine": machine.facts()}


def directory(parent: Path, what: str, topology: Topology | None = None) -> Path:
    """A new directory for a record, below one of the machine that was measured."""
    facts = topology.server.facts() if topology else machine.facts()
    names = [what, *([topology.name] if topology else [])]
    kept = [name for name in dict.fromkeys(names) if name not in ("full", "local")]
    return new_directory(parent, "-".join((machine.short_name(facts), *kept)))


def write(path: Path, value: dict[str, Any]) -> None:
    """Writes a record whole: no page is made of a .part."""
    part = path.with_suffix(".part")
    part.write_text(json.dumps(value, indent=1) + "\n")
    part.replace(path)


def keep(parent: Path, kind: str, measure: Callable[[], dict[str, Any]]) -> Path:
    """Measures, and writes what was found, and what every record says, into KIND.json of a new directory."""
    found = head() | measure()
    path = directory(parent, kind) / f"{kind}.json"
    write(path, found | {"finished": now()})
    print(f"results in {path}")
    return path
