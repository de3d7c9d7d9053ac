"""The head and the directory of every record: time, commit and machine.

The facts of a machine are those that may affect its speed, and none that identifies its owner.

A comparison's record is results.json (results.py). Others hold subjects, each with a unit and series of one
value per repetition; they are measured interleaved, so values at the same index are of the same repetition.
"""

import datetime
import importlib.metadata
import os
import platform
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.hosts import ROOT
from bench.results import new_directory, write_json
from bench.topology import Topology

RESULTS = ROOT / "bench" / "results"
UNKNOWN = "unknown"
CPU_DIRECTORY = Path("/sys/devices/system/cpu")


def _first_line(path: Path, pattern: str = r"(.*)") -> str:
    """Returns the pattern's first match in a file, or `UNKNOWN`."""
    try:
        found = re.search(pattern, path.read_text(), re.MULTILINE)
    except OSError:
        return UNKNOWN
    return found[1].strip() if found and found[1].strip() else UNKNOWN


def facts() -> dict[str, str]:
    """Returns processor, memory, kernel and settings that affect the speed."""
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
    """Returns the machine's part of a directory name."""
    words = re.sub(r"\(.*?\)|\bprocessor\b|@.*", " ", known["processor"], flags=re.IGNORECASE)
    text = f"{words} {known['cores']} cores"
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def packages(names: list[str]) -> dict[str, str]:
    return {name: importlib.metadata.version(name) for name in names}


def now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def commit() -> str:
    """Returns the commit of this repository, with "+" if files differ from it."""
    words = ("rev-parse", "HEAD"), ("status", "--porcelain", "-uno")
    pipes = {"stderr": subprocess.DEVNULL, "text": True, "cwd": ROOT}
    try:
        found, changed = (subprocess.check_output(["git", *verb], **pipes) for verb in words)
    except (OSError, subprocess.CalledProcessError):
        return UNKNOWN
    return found.strip() + ("+" if changed else "")


def directory(parent: Path, what: str, topology: Topology | None = None) -> Path:
    """Creates a directory for a record, below one named after the machine that was measured."""
    known = topology.server.facts if topology else facts()
    names = [what, *([topology.name] if topology else [])]
    kept = [name for name in dict.fromkeys(names) if name not in ("full", "local")]
    return new_directory(parent, "-".join((short_name(known), *kept)))


def keep(parent: Path, kind: str, measure: Callable[[], dict[str, Any]]) -> Path:
    """Measures, and writes the figures with the record's head to KIND.json in a new directory."""
    head = {"schema": 1, "started": now(), "commit": commit(), "machine": facts()}
    found = head | measure() | {"finished": now()}
    path = directory(parent, kind) / f"{kind}.json"
    write_json(path, found)
    print(f"results in {path}")
    return path
