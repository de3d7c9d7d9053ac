"""The files of the repository: what git has, and what is new and not ignored."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def files(*patterns: str) -> list[str]:
    """The files of these names, from the repository's root."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", *patterns]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return [name for name in listed.stdout.split("\0") if name]
