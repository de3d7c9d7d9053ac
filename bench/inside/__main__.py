"""`python -m bench.inside`, or `make speed`: measures the cost of `predict` inside the database.

All measurements are interleaved, in a separate cluster, and none fails for being slow. A run writes
inside.json to a new directory of bench/results, from which `make report` generates a page.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import psycopg

from bench.inside.connections import copies, first, preloaded
from bench.inside.deploys import deploys
from bench.inside.few_rows import few_rows, one_row
from bench.inside.scans import maintained, scans, statements, workers
from bench.inside.series import LOAD, Subjects
from bench.inside.site import PREPARATION, ROWS, Site, prepared, running
from bench.record import RESULTS, keep
from bench.report.pages import page
from tools.cluster import ClusterError
from tools.workbench.console import Teller

# Each step's title and function. The last one restarts the server.
STEPS: dict[str, tuple[str, Callable[[Site], Subjects]]] = {
    "few-rows": ("pgbench, prepared statements of one to a thousand rows", few_rows),
    "scan": (f"full scans of {ROWS:,} rows, in one process", scans),
    "workers": ("full scans by one and by two parallel workers, and by two connections", workers),
    "statements": ("whole statements, with batches and without", statements),
    "maintained": ("a bulk load, with a maintained score and without", maintained),
    "one-row": ("pgbench, the one-row query", one_row),
    "deploys": ("deploying while connections predict", deploys),
    "copies": ("memory of connections that predict", copies),
    "fresh": ("first predictions of fresh connections and workers", first),
    "preloaded": ("the same with the library preloaded", preloaded),
}


def measure(names: Collection[str]) -> dict[str, Any]:
    """Runs the steps of these names."""
    teller = Teller(PREPARATION + len(names))
    with running() as cluster:
        site = prepared(cluster, teller)
        found, subjects = site.facts() | {"workload": vars(LOAD) | {"rows": ROWS}}, {}
        for name, (title, step) in STEPS.items():
            if name in names:
                with teller.step(title):
                    subjects |= step(site)
        return found | {"subjects": subjects}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=STEPS, help="measure these, record nothing")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as nowhere:
        parent = Path(nowhere) if given.only else RESULTS
        path = keep(parent, "inside", lambda: measure(given.only or STEPS))
        print("\n" + page("inside.md", path.parent))


if __name__ == "__main__":
    try:
        main()
    except (ClusterError, psycopg.OperationalError) as error:
        sys.exit(f"error: {error}")
