"""pgbench: so many clients, one statement per transaction, in a closed loop or at a rate.

Its report has no percentiles, so they come from its log of single transactions: of all at a rate,
of every fifth in a closed loop: writing more of them takes time from what is
measured. At a rate its transactions come at random times, as from clients that know nothing of each other.

Each run makes new connections, and a backend's first statements fill its caches. Connections
of an application are older than that, so what is done before they have settled is taken off again.
"""

import os
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath

from bench.generators import Figures, Load, Unsound, checked
from tools.cluster import Cluster
from tools.cluster.server import bin_directory

# More scripts it does not take.
MOST_SCRIPTS = 128
SAMPLED = 0.2
# Its time runs while it connects, the schedule from then on. At a rate it is told to go on for so much
# longer, or nothing would be sent at the end of the time that counts, as by a system that falls behind.
CONNECTING_SECONDS = 1


@dataclass(frozen=True)
class Program:
    """What is started, what it speaks, and how many cores its host has."""

    path: str
    protocol: str
    cores: int


def command(
    program: Program, scripts: Sequence[Path] | str, load: Load, log: PurePath | None
) -> list[str | PurePath]:
    """What to run: scripts, or a built-in one; the connection is in the environment, `log` a prefix."""
    own = [f"--builtin={scripts}"] if isinstance(scripts, str) else []
    scripts = [] if own else scripts
    if len(scripts) > MOST_SCRIPTS:
        raise ValueError(f"pgbench takes {MOST_SCRIPTS} scripts, not {len(scripts)}")
    threads = min(load.clients, program.cores)
    seconds = load.end + (CONNECTING_SECONDS if load.rate else 0)
    asked = [f"--rate={load.rate}"] if load.rate else ["--progress=1"] * bool(load.warm_up)
    sampled = [] if load.rate else [f"--sampling-rate={SAMPLED}"]
    logged = ["--log", f"--log-prefix={log}", *sampled] if log else []
    return [
        program.path, "--no-vacuum", f"--protocol={program.protocol}", f"--client={load.clients}",
        f"--jobs={threads}", f"--time={seconds}", f"--random-seed={load.seed}",
        *asked, *logged, *own,
        *(word for script in scripts for word in ("--file", script)),
    ]  # fmt: skip


def _number(pattern: str, output: str) -> float:
    """The number that a line of the report holds."""
    found = re.search(pattern, output, re.MULTILINE)
    if not found:
        raise Unsound(f"the report has no line {pattern!r}:\n{output}")
    return float(found[1])


PROGRESS = re.compile(r"^progress: ([0-9.]+) s, ([0-9.]+) tps", re.MULTILINE)


def _early(output: str, warm_up: int) -> tuple[float, float]:
    """The transactions of about the first so many seconds, and when those ended.

    There is a line for each second but those in which it still connects, which end with the first line.
    """
    done, before = 0.0, 0.0
    for until, rate in (map(float, found) for found in PROGRESS.findall(output)):
        done, before = done + rate * (until - before), until
        if until > warm_up - 0.5:
            return done, until
    raise Unsound(f"the report tells nothing of its first {warm_up} s:\n{output}")


def rate(output: str, warm_up: int) -> float:
    """Transactions per second of a closed loop, except its first seconds, which --progress=1 tells apart."""
    requests = _number(r"^number of transactions actually processed: (\d+)", output)
    # The time to connect is part of the seconds that the progress counts, not of the rate's.
    connecting = _number(r"^initial connection time = ([0-9.]+) ms", output) / 1e3
    per_second = _number(r"^tps = ([0-9.]+)", output)
    if not (warm_up and requests):
        return per_second
    early, until = _early(output, warm_up)
    return (requests - early) / (requests / per_second + connecting - until)


def parse(output: str, log: Figures, warm_up: int = 0) -> Figures:
    """The report's figures with the log's; none of the transactions may have failed.

    All transactions are counted, those of the warm-up too; the rate of a closed loop is that after it,
    and so is the mean latency: the clients' time by the transactions.
    """
    failed = _number(r"^number of failed transactions: (\d+)", output)
    if failed:
        raise Unsound(f"{failed:.0f} transactions failed")
    requests = int(_number(r"^number of transactions actually processed: (\d+)", output))
    if log.open_loop:
        return checked(replace(log, requests=requests))
    clients = _number(r"^number of clients: (\d+)", output)
    per_second = rate(output, warm_up)
    # To the microsecond, as both print it.
    mean = round(clients / per_second * 1e3, 3) if per_second else 0.0
    # The largest of a sample is not the largest.
    latency = {name: value for name, value in log.latency_ms.items() if name != "max"}
    latency["mean"] = mean
    return checked(Figures(requests, per_second, latency, log.latency_requests, None))


def run(cluster: Cluster, dbname: str, script: Path, protocol: str, load: Load) -> Figures:
    """A closed loop on this machine, over the socket of its cluster, without single requests' latencies."""
    program = Program(str(bin_directory() / "pgbench"), protocol, os.cpu_count() or 1)
    done = subprocess.run(
        command(program, [script], load, None), env=cluster.environment(dbname),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise Unsound(f"pgbench failed:\n{done.stderr}")
    # Its progress is in the one, its result in the other.
    return parse(done.stderr + done.stdout, Figures(0, 0.0, {}, 0, None), load.warm_up)
