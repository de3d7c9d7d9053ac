"""`python -m bench.attached`: the quick workload against servers that already run; see bench.attached.places.

Of the systems those that can be attached to, with the number of flights and trees that were loaded.
"""

import argparse
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from bench.__main__ import RESULTS, heed_signals, matching, measure
from bench.attached.places import Places
from bench.attached.site import AttachedSite, AttachedTopology
from bench.attached.systems import SYSTEMS
from bench.hosts import LocalHost
from bench.workload import QUICK, Workload


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", action="append", metavar="PATTERN", help="cells to measure")
    parser.add_argument("--list", action="store_true", help="name the cells and stop")
    parser.add_argument("--seconds", type=int, default=QUICK.seconds, help="of a run; %(default)s")
    parser.add_argument("--repetitions", type=int, default=QUICK.repetitions, help="%(default)s")
    parser.add_argument("--output", type=Path, default=RESULTS, help="default: bench/results")
    return parser.parse_args()


def _workload(arguments: argparse.Namespace, places: Places) -> Workload:
    if arguments.seconds < 1 or arguments.repetitions < 1:
        raise SystemExit("error: --seconds and --repetitions must be at least 1")
    # Few flights share a key, so half as many keys as flights can always be had.
    keys = min(QUICK.keys, places.rows // 2)
    asked = QUICK.among([*SYSTEMS], [places.trees])
    return replace(
        asked,
        # At a rate the service is asked by oha, which the image of the harness does not have.
        groups=tuple(group for group in asked.groups if not any(group.rates)),
        rows=places.rows,
        keys=keys,
        training_rounds=0,
        seconds=arguments.seconds,
        repetitions=arguments.repetitions,
    )


def main() -> None:
    """Finds the cells and measures."""
    arguments = _arguments()
    places = Places.read()
    workload = _workload(arguments, places)
    with tempfile.TemporaryDirectory() as name:
        host = LocalHost(Path(name))
        topology = AttachedTopology("attached", host, host, host)
        site = AttachedSite(workload, topology, Path(name), places, places.postgresql)
        variants = {name: make(site).variants for name, make in SYSTEMS.items()}
        cells = matching(workload.cells(variants), arguments.only)
        if not cells:
            sys.exit("error: no cell has such a name: see --list")
        if arguments.list:
            print("\n".join(cell.name for cell in cells))
            return
        heed_signals()
        measure(site, cells, arguments.output, SYSTEMS)


if __name__ == "__main__":
    main()
