"""Runs pgbench with a file of sql/ in a throw-away cluster."""

import os
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cluster import Cluster
from cluster.server import bin_directory

SQL = Path(__file__).resolve().parent.parent / "sql"


@dataclass(frozen=True)
class OneRow:
    """How pgbench asks: its protocol, how many clients, for how many seconds."""

    protocol: str
    clients: int
    seconds: int


def pgbench(
    cluster: Cluster, dbname: str, script: Path, how: OneRow, options: Sequence[str] = ()
) -> str:
    """What one run of pgbench reports."""
    threads = min(how.clients, os.cpu_count() or 1)
    command = [
        bin_directory() / "pgbench", "--no-vacuum", f"--file={script}",
        f"--protocol={how.protocol}", f"--client={how.clients}", f"--jobs={threads}",
        f"--time={how.seconds}", *options,
    ]  # fmt: skip
    done = subprocess.run(
        command, env=cluster.environment(dbname), capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise RuntimeError(f"pgbench failed:\n{done.stderr}")
    # Its progress is in the one, its result in the other.
    return done.stderr + done.stdout


def transactions_per_second(cluster: Cluster, dbname: str, script: str, how: OneRow) -> float:
    """One run of pgbench with a file of sql/."""
    report = pgbench(cluster, dbname, SQL / script, how)
    return float(re.search(r"^tps = ([0-9.]+)", report, re.MULTILINE)[1])
