"""pgbench: a closed loop of so many clients, one statement a transaction."""

from collections.abc import Sequence
from pathlib import Path

from bench.generators import Figures, Load, Unsound, checked, number

# More scripts it does not take.
MOST_SCRIPTS = 128


def command(
    program: str, scripts: Sequence[Path], protocol: str, load: Load, cores: int
) -> list[str | Path]:
    """What to run on a host of so many cores; the connection is in the environment."""
    if len(scripts) > MOST_SCRIPTS:
        raise ValueError(f"pgbench takes {MOST_SCRIPTS} scripts, not {len(scripts)}")
    threads = min(load.clients, cores)
    return [
        program, "--no-vacuum", f"--protocol={protocol}", f"--client={load.clients}",
        f"--jobs={threads}", f"--time={load.seconds}", f"--random-seed={load.seed}",
        *(word for script in scripts for word in ("--file", script)),
    ]  # fmt: skip


def parse(output: str) -> Figures:
    """The report's figures; none of the transactions may have failed."""
    failed = number(r"^number of failed transactions: (\d+)", output)
    if failed:
        raise Unsound(f"{failed:.0f} transactions failed")
    return checked(
        Figures(
            requests=int(number(r"^number of transactions actually processed: (\d+)", output)),
            requests_per_second=number(r"^tps = ([0-9.]+)", output),
            latency_ms={"mean": number(r"^latency average = ([0-9.]+) ms", output)},
        )
    )
