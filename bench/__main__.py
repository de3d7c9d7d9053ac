"""`bench/run`: measures a workload, or some cells of it, into bench/results/.

Without --only the whole table. A cell's name is
system/variant/request/trees/clients, such as postgres_direct/simple/hot/25t/20c, and
--only takes patterns: --only 'python_*/hot/*' --only 'postgres_direct/*'.
"""

import argparse
import contextlib
import fnmatch
import signal
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

from bench import results
from bench.answers import Unequal
from bench.attached import NAME as ATTACHED
from bench.attached import Attached
from bench.generators import Unsound
from bench.harness import ROOT, Harness, elapsed, result_directory
from bench.hosts import CommandFailed
from bench.opening import NAMED, opened
from bench.site import Site
from bench.sweep import best_pair, is_swept
from bench.systems import described
from bench.table import show
from bench.topology import BadTopology
from bench.workload import WORKLOADS, Cell, Workload

STATE = ROOT / ".bench"
RESULTS = ROOT / "bench" / "results"

# What ends a run from outside: a Ctrl-C, a kill, a terminal that is closed.
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# What ends a run with a message, and not with a traceback.
_EXPECTED = (BadTopology, CommandFailed, Unequal, Unsound)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workload", choices=WORKLOADS, default="full", help="default: full")
    parser.add_argument("--only", action="append", metavar="PATTERN", help="cells to measure")
    parser.add_argument(
        "--topology", metavar="NAME|FILE",
        help=f"{', '.join(NAMED)}, or a file that bench/topology.md describes; default: the workload's",
    )  # fmt: skip
    parser.add_argument(
        "--list", action="store_true", help="name the cells and how long they take, and stop"
    )
    parser.add_argument("--seconds", type=int, help="of a run, in place of the workload's")
    parser.add_argument("--repetitions", type=int, help="in place of the workload's")
    parser.add_argument("--rows", type=int, help="flights, in place of the workload's")
    parser.add_argument("--workers", type=int, help="of the tuned service, in place of a sweep's")
    parser.add_argument("--threads", type=int, help="of each worker; 2")
    parser.add_argument("--output", type=Path, default=RESULTS, help="default: bench/results")
    return parser.parse_args()


def _workload(arguments: argparse.Namespace) -> Workload:
    known = ("seconds", "repetitions", "rows", "workers", "threads")
    given = {name: value for name in known if (value := getattr(arguments, name)) is not None}
    if any(value < 1 for value in given.values()):
        raise SystemExit(
            "--seconds, --repetitions, --rows, --workers and --threads must be at least 1"
        )
    if arguments.only:
        # Some cells are asked for, and no training.
        given["training_rounds"] = 0
    return replace(WORKLOADS[arguments.workload], **given)


def matching(cells: list[Cell], patterns: list[str] | None) -> list[Cell]:
    """The cells whose name, or the beginning of it, matches a pattern; all without one.

    The whole name of a cell is no beginning: it means no cell with a rate or a delay beside.
    """
    names = {cell.name for cell in cells}

    def matches(name: str, pattern: str) -> bool:
        whole = fnmatch.fnmatch(name, pattern)
        return whole or (pattern not in names and name.startswith(pattern))

    if not patterns:
        return cells
    return [cell for cell in cells if any(matches(cell.name, pattern) for pattern in patterns)]


def _raw_logs(directory: Path) -> str:
    """Where the logs of a run that came to no end are; without any its directory goes."""
    with contextlib.suppress(OSError):
        directory.rmdir()
        directory.parent.rmdir()
    if not directory.exists():
        return ""
    return f"; raw logs so far are in {directory}"


# A signal has come to end the run.
_ended = threading.Event()


def _end(*_: object) -> None:
    """Ends the run, and its servers with it; whoever is impatient does not interrupt that as well."""
    _ended.set()
    for signum in _ENDING:
        signal.signal(signum, signal.SIG_IGN)
    raise KeyboardInterrupt


def _is_interrupted(error: BaseException) -> bool:
    """Whether this is the end by a signal, or the failure of what it also ended, a load generator say."""
    return _ended.is_set() or isinstance(error, KeyboardInterrupt)


def heed_signals() -> None:
    """Has whatever ends this run, the terminal or a signal, end its servers with it."""
    for signum in _ENDING:
        # Under nohup, or in a script's background, some are not for us.
        if signal.getsignal(signum) is not signal.SIG_IGN:
            signal.signal(signum, _end)


def measure(site: Site, cells: list[Cell], output: Path) -> None:
    """Runs the harness and prints the table."""
    began = time.monotonic()
    directory = result_directory(output, site.workload.name, site.topology)
    try:
        result = Harness(site, cells, directory).run()
    except (*_EXPECTED, KeyboardInterrupt) as error:
        if _is_interrupted(error):
            sys.exit(f"interrupted: no results{_raw_logs(directory)}")
        sys.exit(f"error: {error}\n       no results{_raw_logs(directory)}")
    path = directory / "results.json"
    results.write(path, result)
    results.pack_raw(directory)
    show(result)
    print(f"\n{elapsed(began)}; results in {path}")


def main() -> None:
    """Finds the cells and the hosts, and measures."""
    arguments = _arguments()
    workload = _workload(arguments)
    attached = None
    if workload.topology == ATTACHED:
        attached = Attached.read()
        workload = attached.workload(workload)
    cells = matching(workload.cells_of(described()), arguments.only)
    if not cells:
        sys.exit("error: no cell has such a name: see --list")
    if arguments.list:
        print("\n".join(cell.name for cell in cells))
        print(f"# {len(cells)} cells, at most {workload.planned_minutes(cells):.0f} minutes")
        return
    heed_signals()
    try:
        with opened(arguments.topology or workload.topology, STATE) as topology:
            site = Site(workload, topology, STATE, attached)
            if (
                attached is None
                and workload.workers is None
                and any(is_swept(cell.system) for cell in cells)
            ):
                workers, threads = best_pair(site, arguments.output)
                site = Site(replace(workload, workers=workers, threads=threads), topology, STATE)
            measure(site, cells, arguments.output)
    except (BadTopology, CommandFailed, KeyboardInterrupt) as error:
        sys.exit("interrupted: no results" if _is_interrupted(error) else f"error: {error}")


if __name__ == "__main__":
    main()
