"""`make speed`: what predictions cost inside the database, measured and recorded.

Everything is measured in turn on a cluster of its own, and nothing here fails for being slow. A
whole run leaves inside.json in a new directory of bench/results, from which `make report` makes
docs/benchmarks/inside.md; what it found is printed as that page. With `--only` nothing is recorded.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import psycopg

from bench import machine
from bench.record import RESULTS, commit, directory, now
from bench.report.pages import page
from cluster import ClusterError
from speed import record
from speed.connections import copies, first_in_workers, first_statements
from speed.deploys import deploys
from speed.one_row import one_row
from speed.record import Inside, Subjects
from speed.scans import scans, statements, workers
from speed.site import ROWS, Site, preloaded, prepared
from workbench.tell import Teller, say

PREPARATION = 6
# How much is measured: the options, their defaults and what is said of them.
LOAD = {
    "repetitions": (5, "of everything"),
    "fresh": (200, "connections of each kind, and parallel queries"),
    "together": (40, "connections that hold a model together"),
    "asking": (4, "connections that predict during deploys"),
    "rounds": (9, "of pgbench with each query"),
    "seconds": (2, "of a pgbench run, and of a span of deploys"),
}


def _first(site: Site, name: str, fresh: int) -> Subjects:
    first = first_statements(site, fresh)
    found = dict(zip((name, f"{name} memory"), first, strict=True))
    return found | {f"{name} workers": first_in_workers(site, fresh)}


def _deploys(site: Site, load: argparse.Namespace) -> Subjects:
    found = deploys(site, load.asking, load.seconds, load.repetitions)
    return dict(zip(("deploys", "stale"), found, strict=True))


def _preloaded(site: Site, load: argparse.Namespace) -> Subjects:
    with preloaded(site) as again:
        held = copies(again, load.together, load.repetitions)
        return _first(again, "preloaded", load.fresh) | {"preloaded copies": held}


# Each step's title, and what it measures. The last starts the server anew.
STEPS: dict[str, tuple[str, Callable[[Site, argparse.Namespace], Subjects]]] = {
    "scan": (
        f"full scans of {ROWS:,} rows, in one process",
        lambda site, load: {"scan": scans(site, load.repetitions)},
    ),
    "workers": (
        "full scans by one and by two parallel workers, and by two connections",
        lambda site, load: {"workers": workers(site, load.repetitions)},
    ),
    "statements": (
        "whole statements, with batches and without",
        lambda site, load: {"statements": statements(site, load.repetitions)},
    ),
    "one-row": (
        "pgbench, the one-row query",
        lambda site, load: {"one row": one_row(site, load.seconds, load.rounds)},
    ),
    "deploys": ("deploying while connections predict", _deploys),
    "copies": (
        "memory of connections that predict",
        lambda site, load: {"copies": copies(site, load.together, load.repetitions)},
    ),
    "fresh": (
        "first predictions of fresh connections and workers",
        lambda site, load: _first(site, "fresh", load.fresh),
    ),
    "preloaded": ("the same with the library preloaded", _preloaded),
}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, (default, what) in LOAD.items():
        parser.add_argument(f"--{name}", type=int, default=default, help=f"{what}; %(default)s")
    parser.add_argument("--only", nargs="+", choices=STEPS, help="measure these, record nothing")
    return parser.parse_args()


def main() -> None:
    """Prepares as the demo does, measures, records, and prints the page."""
    arguments = _arguments()
    names = arguments.only or [*STEPS]
    teller = Teller(PREPARATION + len(names))
    began = now()
    with prepared(teller) as site:
        settings, versions, models = site.settings(), site.versions(), site.models()
        subjects: Subjects = {}
        for name, (title, measure) in STEPS.items():
            if name in names:
                with teller.step(title):
                    subjects |= measure(site, arguments)
    result = Inside(
        schema=record.SCHEMA,
        started=began,
        finished=now(),
        commit=commit(),
        machine=machine.facts(),
        versions=versions,
        settings=settings,
        workload={name: getattr(arguments, name) for name in LOAD} | {"rows": ROWS},
        models=models,
        subjects=subjects,
    )
    with tempfile.TemporaryDirectory() as nowhere:
        place = Path(nowhere) if arguments.only else directory(RESULTS, "inside")
        record.write(place, result)
        print("\n" + page("inside.md", place))
    if not arguments.only:
        say(
            f"recorded in {place.relative_to(RESULTS.parents[1])}; make report makes the pages of it"
        )


if __name__ == "__main__":
    try:
        main()
    except (ClusterError, psycopg.OperationalError) as error:
        sys.exit(f"error: {error}")
