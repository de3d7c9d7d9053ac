"""What the kernel says of a backend's memory."""

from pathlib import Path


def _kilobytes(pid: int, prefix: str) -> int:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith(prefix))


def private(pid: int) -> float:
    """Bytes that no other process has, clean and dirty."""
    return _kilobytes(pid, "Private_") * 1024.0


def proportional(pid: int) -> float:
    """Bytes, those that are shared divided by how many processes share them."""
    return _kilobytes(pid, "Pss:") * 1024.0
