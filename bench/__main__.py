"""`bench/run`: measures a workload, or some cells of it, into bench/results/.

Without --only the whole table. A cell's name is
system/variant/request/trees/clients, such as postgres_direct/simple/random/25t/20c, and
--only takes patterns: --only 'python_*/random/*' --only 'postgres_direct/*'.
"""

import argparse
import contextlib
import fnmatch
import resource
import signal
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from bench import record, results
from bench.answers import Unequal
from bench.generators import InvalidRun
from bench.harness import Harness
from bench.hosts import STATE, CommandFailed
from bench.report.figures import ranged
from bench.report.measured import spread
from bench.requests import REQUESTS
from bench.results import CellResult, Result
from bench.site import Site
from bench.split import NAMED, opened
from bench.systems.description import described
from bench.topology import BadTopology
from bench.workload import WORKLOADS, Cell, Workload
from tools.workbench.console import say, table

# Signals that end a run: a Ctrl-C, a kill, a closed terminal.
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# Errors reported without a traceback.
_EXPECTED = (BadTopology, CommandFailed, Unequal, InvalidRun)
_GIVEN = {"seconds": "of a run in a closed loop", "repetitions": "of each cell", "rows": "flights"}
# A column's title, the figure's name in bench/report/measured.py, and its format.
FIGURES = (
    ("requests/s", "rate", "whole"), ("mean ms", "mean", "three"), ("p99 ms", "p99", "three"),
    ("server CPU us/request", "us", "tenths"),
    ("generator CPU us/request", "generator us", "tenths"),
    ("server MB", "mb", "whole"),
)  # fmt: skip
# Set once one of these signals has arrived.
_ended = threading.Event()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench/run", description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--workload", choices=WORKLOADS, default="full", help="default: full")
    add("--only", action="append", metavar="PATTERN", help="cells to measure")
    add("--topology", metavar="NAME|FILE", help=f"{', '.join(NAMED)}, or a file: bench/topology.md")
    add("--list", action="store_true", help="name the cells and how long they take, and stop")
    for name, what in _GIVEN.items():
        add(f"--{name}", type=int, help=f"{what}, in place of the workload's")
    add("--train", action="store_true", help="train though --only is given")
    add("--output", type=Path, default=record.RESULTS, help="default: bench/results")
    return parser.parse_args()


def _workload(arguments: argparse.Namespace) -> Workload:
    given = {name: value for name in _GIVEN if (value := getattr(arguments, name)) is not None}
    if any(value < 1 for value in given.values()):
        sys.exit("--seconds, --repetitions and --rows must be at least 1")
    if arguments.only and not arguments.train:
        given["training_rounds"] = 0
    workload = WORKLOADS[arguments.workload]
    if "repetitions" in given:
        given["cells"] = {name: replace(one, turns=None) for name, one in workload.cells.items()}
    return replace(workload, **given)


def matching(cells: list[Cell], patterns: list[str] | None) -> list[Cell]:
    """Selects the cells whose name, or a prefix of it, matches a pattern; all of them without patterns.

    A pattern that is a cell's full name matches that cell only, and not the same with a rate or a delay.
    """
    names = {cell.name for cell in cells}
    every = [one if one in names else f"{one}*" for one in patterns or ("",)]
    return [cell for cell in cells if any(fnmatch.fnmatch(cell.name, one) for one in every)]


def _end(*_: object) -> None:
    """Ends the run and its servers; further signals are ignored meanwhile."""
    _ended.set()
    for signum in _ENDING:
        signal.signal(signum, signal.SIG_IGN)
    raise KeyboardInterrupt


@contextlib.contextmanager
def _ending(logs: Path | None = None) -> Iterator[None]:
    """Exits with one line for an expected error or a signal, which names the directory of the logs."""
    try:
        yield
    except (*_EXPECTED, KeyboardInterrupt) as error:
        with contextlib.suppress(OSError):
            for empty in (logs, logs.parent) if logs else ():
                empty.rmdir()
        kept = f"; raw logs so far are in {logs}" if logs and logs.exists() else ""
        # A load generator that the same signal ended is not a failure.
        if _ended.is_set() or isinstance(error, KeyboardInterrupt):
            sys.exit(f"interrupted: no results{kept}")
        sys.exit(f"error: {error}" + (f"\n       no results{kept}" if logs else ""))


def _figure(cell: CellResult, figure: str, way: str) -> str | None:
    known = spread(cell, figure)
    return known and ranged(known, way)


def _line(cell: CellResult) -> dict[str, object]:
    delay = None if cell.delay_ms is None else f"{cell.delay_ms:g}"
    return {
        "system": cell.system, "variant": cell.variant, "trees": cell.trees, "clients": cell.clients,
        "delay ms": delay, "asked/s": cell.rate,
        **{title: _figure(cell, figure, way) for title, figure, way in FIGURES},
    }  # fmt: skip


def show(result: Result) -> None:
    """Prints a table for each kind of request, without empty columns, and the reasons for empty cells."""
    for request in REQUESTS:
        lines = [_line(cell) for cell in result.cells if cell.request == request]
        if lines:
            titles = [one for one in lines[0] if any(line[one] is not None for line in lines)]
            print(f"\n{request}")
            table(titles, [[line[title] for title in titles] for line in lines])
    for why in dict.fromkeys(cell.skipped for cell in result.cells if cell.skipped):
        say("")
        say(f"empty: {why}")


def measure(site: Site, cells: list[Cell], output: Path) -> None:
    """Runs the harness and prints the table."""
    began = time.monotonic()
    directory = record.directory(output, site.workload.name, site.topology)
    with _ending(directory):
        harness = Harness(site, cells, directory)
        result = harness.run()
    results.write(directory / "results.json", result)
    results.pack_raw(directory)
    show(result)
    minutes, seconds = divmod(int(time.monotonic() - began), 60)
    print(f"\n{minutes} min {seconds:02} s; results in {directory / 'results.json'}")
    if harness.failed:
        sys.exit(f"error: {harness.failed}\n       what else was measured is in the results")


def main() -> None:
    arguments = _arguments()
    workload = _workload(arguments)
    # A thousand connections exceed the default limit of open files.
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    cells = matching(workload.cells_of(described()), arguments.only)
    if not cells:
        sys.exit("error: no cell has such a name: see --list")
    if arguments.list:
        print("\n".join(cell.name for cell in cells))
        print(f"# {len(cells)} cells, at most {workload.planned_minutes(cells):.0f} minutes")
        return
    for signum in _ENDING:
        # nohup and a script's background jobs ignore some of them, and so does this.
        if signal.getsignal(signum) is not signal.SIG_IGN:
            signal.signal(signum, _end)
    with _ending(), opened(arguments.topology or workload.topology) as topology:
        measure(Site(workload, topology, STATE), cells, arguments.output)


if __name__ == "__main__":
    main()
