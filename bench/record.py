"""What every record says of itself, and where it goes: when, of which commit, on which machine.

Of a machine that is what may make its speed vary, and nothing that names its owner.

A comparison's is results.json (results.py); others keep subjects, each a unit and its series' values
in each repetition, which were measured in turn: values at the same place are of the same repetition.
"""

import datetime
import importlib.metadata
import json
import os
import platform
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.hosts import ROOT
from bench.results import new_directory
from bench.topology import Topology

RESULTS = ROOT / "bench" / "results"
UNKNOWN = "unknown"
CPU_DIRECTORY = Path("/sys/devices/system/cpu")


def _first_line(path: Path, pattern: str = r"(.*)") -> str:
    """What the pattern finds first in a file, if there are both."""
    try:
        found = re.search(pattern, path.read_text(), re.MULTILINE)
    except OSError:
        return UNKNOWN
    return found[1].strip() if found and found[1].strip() else UNKNOWN


def facts() -> dict[str, str]:
    """Processor, memory, kernel, and what may make its speed vary."""
    processor = Path("/proc/cpuinfo")
    flags = _first_line(processor, r"^flags\s*: (.*)").split()
    return {
        "processor": _first_line(processor, r"^model name\s*: (.*)"),
        "cores": str(len(os.sched_getaffinity(0))),
        "threads per core": "2" if _first_line(CPU_DIRECTORY / "smt/active") == "1" else "1",
        "governor": _first_line(CPU_DIRECTORY / "cpu0/cpufreq/scaling_governor"),
        "memory": _first_line(Path("/proc/meminfo"), r"^MemTotal: +(.*)"),
        "virtual machine": "yes" if "hypervisor" in flags else "no",
        "system": _first_line(Path("/etc/os-release"), r'^PRETTY_NAME="(.*)"'),
        "kernel": platform.release(),
        "python": platform.python_version(),
    }


def short_name(known: dict[str, str]) -> str:
    """What stands for the machine in a directory's name."""
    words = re.sub(r"\(.*?\)|\bprocessor\b|@.*", " ", known["processor"], flags=re.IGNORECASE)
    text = f"{words} {known['cores']} cores"
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def packages(names: list[str]) -> dict[str, str]:
    """The versions of Python's packages."""
    return {name: importlib.metadata.version(name) for name in names}


def now() -> str:
    """The time, as results have it."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def commit() -> str:
    """The commit of this repository, with "+" where files differ from it."""
    git = ["git", "-C", str(ROOT)]
    try:
        found = subprocess.check_output(
            [*git, "rev-parse", "HEAD"], stderr=subprocess.DEVNULL, text=True
        )
        changed = subprocess.check_output([*git, "status", "--porcelain", "-uno"])
    except (OSError, subprocess.CalledProcessError):
        return UNKNOWN
    return found.strip() + ("+" if changed else "")


def directory(parent: Path, what: str, topology: Topology | None = None) -> Path:
    """A new directory for a record, below one of the machine that was measured."""
    known = topology.server.facts if topology else facts()
    names = [what, *([topology.name] if topology else [])]
    kept = [name for name in dict.fromkeys(names) if name not in ("full", "local")]
    return new_directory(parent, "-".join((short_name(known), *kept)))


def write(path: Path, value: dict[str, Any]) -> None:
    """Writes a record whole: no page is made of a .part."""
    part = path.with_suffix(".part")
    part.write_text(json.dumps(value, indent=1) + "\n")
    part.replace(path)


def keep(parent: Path, kind: str, measure: Callable[[], dict[str, Any]]) -> Path:
    """Measures, and writes what was found, and what every record says, into KIND.json of a new directory."""
    head = {"schema": 1, "started": now(), "commit": commit(), "machine": facts()}
    found = head | measure() | {"finished": now()}
    path = directory(parent, kind) / f"{kind}.json"
    write(path, found)
    print(f"results in {path}")
    return path
