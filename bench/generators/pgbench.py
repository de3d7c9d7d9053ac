"""pgbench: so many clients, one statement a transaction, in a closed loop or at a rate.

Its report has no percentiles, so they come from its log of single transactions: of all at a rate,
of every fifth in a closed loop, where writing more of them would take time from what is
measured. At a rate its transactions come at random times, as from clients that know nothing of each other.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath

from bench.generators import Figures, Load, Unsound, checked, number

# More scripts it does not take.
MOST_SCRIPTS = 128
SAMPLED = 0.2


@dataclass(frozen=True)
class Program:
    """What is started, what it speaks, and how many cores its host has."""

    path: str
    protocol: str
    cores: int


def command(
    program: Program, scripts: Sequence[Path], load: Load, log: PurePath
) -> list[str | PurePath]:
    """What to run; the connection is in the environment, and `log` is how the log's files begin."""
    if len(scripts) > MOST_SCRIPTS:
        raise ValueError(f"pgbench takes {MOST_SCRIPTS} scripts, not {len(scripts)}")
    threads = min(load.clients, program.cores)
    logged = [f"--rate={load.rate}"] if load.rate else [f"--sampling-rate={SAMPLED}"]
    return [
        program.path, "--no-vacuum", f"--protocol={program.protocol}", f"--client={load.clients}",
        f"--jobs={threads}", f"--time={load.warm_up + load.seconds}", f"--random-seed={load.seed}",
        "--log", f"--log-prefix={log}", *logged,
        *(word for script in scripts for word in ("--file", script)),
    ]  # fmt: skip


def parse(output: str, log: Figures) -> Figures:
    """The report's figures with the log's; none of the transactions may have failed."""
    failed = number(r"^number of failed transactions: (\d+)", output)
    if failed:
        raise Unsound(f"{failed:.0f} transactions failed")
    requests = int(number(r"^number of transactions actually processed: (\d+)", output))
    if log.open_loop:
        return checked(replace(log, requests=requests))
    mean = number(r"^latency average = ([0-9.]+) ms", output)
    # The largest of a sample is not the largest.
    latency = {name: value for name, value in log.latency_ms.items() if name != "max"}
    return checked(
        Figures(
            requests=requests,
            requests_per_second=number(r"^tps = ([0-9.]+)", output),
            latency_ms=latency | {"mean": mean},
            latency_requests=log.latency_requests,
        )
    )
