"""Facts of the machine that a result was measured on, and nothing that names its owner."""

import importlib.metadata
import os
import platform
import re
from pathlib import Path

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
