"""`python -m bench.inside`, or `make speed`: measures the cost of `predict` inside the database.

All measurements are interleaved, in a separate cluster, and none fails for being slow. A run writes
inside.json to a new directory of bench/results, from which `make report` generates a page.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import psycopg

from bench.inside import inside
from bench.record import RESULTS, keep
from bench.report.pages import page
from tools.cluster import ClusterError


def main() -> None:
    """Measures, records, and prints the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for option, (default, what) in inside.OPTIONS.items():
        said = f"{what}; %(default)s"
        parser.add_argument(f"--{option}", type=type(default), default=default, help=said)
    parser.add_argument(
        "--only", nargs="+", choices=inside.STEPS, help="measure these, record nothing"
    )
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as nowhere:
        path = keep(
            Path(nowhere) if given.only else RESULTS, "inside", lambda: inside.measure(given)
        )
        print("\n" + page("inside", path.parent))


if __name__ == "__main__":
    try:
        main()
    except (ClusterError, psycopg.OperationalError) as error:
        sys.exit(f"error: {error}")
