"""pgbench: one statement per transaction, in a closed loop or at a rate.

Its report has no percentiles; they come from its log of single transactions, of all at a rate, of every
fifth in a closed loop, where writing more would slow down the measurement. At a rate its transactions have
random times, as from independent clients.

Each run opens new connections, and a backend's first statements fill its caches. An application's connections
are older than that, so transactions before the end of the warm-up are subtracted.
"""

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath

from bench.generators import Figures, InvalidRun, Load, checked
from tools.cluster import Cluster
from tools.cluster.server import bin_directory

# pgbench's limit.
MOST_SCRIPTS = 128
SAMPLED = 0.2
# Its time includes connecting, after which the schedule starts. At a rate it runs this much longer, so that
# transactions are still sent at the end of the counted time.
CONNECTING_SECONDS = 1


@dataclass(frozen=True)
class Scripts:
    """Scripts, of which one is drawn for each transaction, and the arrays that they use as variables."""

    files: Sequence[Path]
    variables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Program:
    """A pgbench program, the protocol, and the number of its host's cores."""

    path: str
    protocol: str
    cores: int


def command(
    program: Program, scripts: Scripts, load: Load, log: PurePath | None
) -> list[str | PurePath]:
    """Returns the command for scripts; `log` is a prefix. libpq's variables connect."""
    if len(scripts.files) > MOST_SCRIPTS:
        raise ValueError(f"pgbench takes {MOST_SCRIPTS} scripts, not {len(scripts.files)}")
    # The simple protocol puts a variable's text into the statement.
    quote = "'" if program.protocol == "simple" else ""
    defined = [f"--define={name}={quote}{text}{quote}" for name, text in scripts.variables.items()]
    threads = min(load.clients, program.cores)
    seconds = load.end + (CONNECTING_SECONDS if load.rate else 0)
    asked = [f"--rate={load.rate}"] if load.rate else ["--progress=1"] * bool(load.warm_up)
    sampled = [] if load.rate else [f"--sampling-rate={SAMPLED}"]
    logged = ["--log", f"--log-prefix={log}", *sampled] if log else []
    return [
        program.path, "--no-vacuum", f"--protocol={program.protocol}", f"--client={load.clients}",
        f"--jobs={threads}", f"--time={seconds}", f"--random-seed={load.seed}",
        *asked, *logged, *defined,
        *(word for script in scripts.files for word in ("--file", script)),
    ]  # fmt: skip


def _number(pattern: str, output: str) -> float:
    """Returns the number in a line of the report."""
    found = re.search(pattern, output, re.MULTILINE)
    if not found:
        raise InvalidRun(f"the report has no line {pattern!r}:\n{output}")
    return float(found[1])


PROGRESS = re.compile(r"^progress: ([0-9.]+) s, ([0-9.]+) tps", re.MULTILINE)


def _early(output: str, warm_up: int) -> tuple[float, float]:
    """Returns the number of transactions of about the first `warm_up` seconds, and when these ended.

    There is one progress line per second, and the first also covers the seconds of connecting.
    """
    done, before = 0.0, 0.0
    for until, rate in (map(float, found) for found in PROGRESS.findall(output)):
        done, before = done + rate * (until - before), until
        if until > warm_up - 0.5:
            return done, until
    raise InvalidRun(f"the report tells nothing of its first {warm_up} s:\n{output}")


def rate(output: str, warm_up: int) -> float:
    """Returns the rate of a closed loop from its warm-up, which --progress=1 tells apart, to its end.

    After the end each client completes the transaction under way. With many clients that takes seconds, so
    neither that time nor those transactions count.
    """
    requests = _number(r"^number of transactions actually processed: (\d+)", output)
    if not (warm_up and requests):
        return _number(r"^tps = ([0-9.]+)", output)
    early, since = _early(output, warm_up)
    clients = _number(r"^number of clients: (\d+)", output)
    seconds = _number(r"^duration: (\d+) s", output) - since
    if seconds <= 0:
        raise InvalidRun(f"the warm-up of {warm_up} s lasted to the end:\n{output}")
    return max(requests - early - clients, 0) / seconds


def parse(output: str, log: Figures, warm_up: int = 0) -> Figures:
    """Combines the report's figures with the log's; raises if a transaction failed.

    `requests` includes the warm-up. The rate of a closed loop is that after it, and so is the mean latency,
    the number of clients divided by the rate.
    """
    failed = _number(r"^number of failed transactions: (\d+)", output)
    if failed:
        raise InvalidRun(f"{failed:.0f} transactions failed")
    requests = int(_number(r"^number of transactions actually processed: (\d+)", output))
    if log.open_loop:
        return checked(replace(log, requests=requests))
    clients = _number(r"^number of clients: (\d+)", output)
    per_second = rate(output, warm_up)
    # To the microsecond, as in the log.
    mean = round(clients / per_second * 1e3, 3) if per_second else 0.0
    # The largest of a sample is not the largest.
    latency = {name: value for name, value in log.latency_ms.items() if name != "max"}
    latency["mean"] = mean
    return checked(Figures(requests, per_second, latency, log.latency_requests, None))


def run(cluster: Cluster, dbname: str, script: Path, protocol: str, load: Load) -> Figures:
    """Runs a closed loop on this machine over the cluster's socket, without a log of single requests."""
    program = Program(str(bin_directory() / "pgbench"), protocol, os.cpu_count() or 1)
    done = subprocess.run(
        command(program, Scripts([script]), load, None), env=cluster.environment(dbname),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise InvalidRun(f"pgbench failed:\n{done.stderr}")
    # Progress is on stderr, the report on stdout.
    return parse(done.stderr + done.stdout, Figures(0, 0.0, {}, 0, None), load.warm_up)
