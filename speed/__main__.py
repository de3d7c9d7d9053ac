"""`python -m speed KIND`: what can be measured in PostgreSQL alone, and recorded; `make speed` is `inside`.

All of a kind is measured in turn, in a cluster of its own, and nothing here fails for being slow. A run
leaves KIND.json in a new directory of bench/results, from which `make report` makes pages.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import psycopg

from bench.record import RESULTS, keep
from bench.report.pages import PRINTED, page
from cluster import ClusterError
from speed import inside, queries

# Each has OPTIONS, with their defaults and what is said of them, and `measure`, whose answer is recorded.
KINDS = {"inside": inside, "queries": queries}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    kinds = parser.add_subparsers(dest="kind", required=True)
    for name, module in KINDS.items():
        add = kinds.add_parser(name, help=module.__doc__.splitlines()[0]).add_argument
        for option, (default, what) in module.OPTIONS.items():
            add(f"--{option}", type=type(default), default=default, help=f"{what}; %(default)s")
        if name == "inside":
            add("--only", nargs="+", choices=inside.STEPS, help="measure these, record nothing")
    return parser.parse_args()


def main() -> None:
    """Measures, records, and prints the page that there is of it."""
    given = _arguments()
    with tempfile.TemporaryDirectory() as nowhere:
        place = Path(nowhere) if getattr(given, "only", None) else RESULTS
        path = keep(place, given.kind, lambda: KINDS[given.kind].measure(given))
        if given.kind in PRINTED:
            print("\n" + page(given.kind, path.parent))


if __name__ == "__main__":
    try:
        main()
    except (ClusterError, psycopg.OperationalError) as error:
        sys.exit(f"error: {error}")
