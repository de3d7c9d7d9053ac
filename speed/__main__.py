"""`make speed`: what predictions cost inside the database, measured and recorded.

Everything is measured in turn on a cluster of its own, and nothing here fails for being slow. A
whole run leaves inside.json in a new directory of bench/results, from which `make report` makes
docs/benchmarks/inside.md; what it found is printed as that page. With `--only` nothing is recorded.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg

from bench import machine
from bench.harness import commit, now
from bench.report.pages import page
from bench.results import new_directory
from cluster import ClusterError
from speed import record
from speed.copies import copies
from speed.deploys import deploys
from speed.fresh import first_in_workers, first_statements
from speed.one_row import one_row
from speed.record import Inside, Subject
from speed.scan import check, in_memory, scans
from speed.site import ROWS, Site, preloaded, prepared
from speed.statements import statements
from speed.workers import workers
from workbench.tell import Teller, say

RESULTS = Path(__file__).resolve().parent.parent / "bench" / "results"
PREPARATION = 6
Subjects = dict[str, Subject]


@dataclass(frozen=True)
class Workload:
    """How much is measured."""

    repetitions: int
    # Fresh connections of each kind, parallel queries of each kind.
    fresh: int
    # Connections that hold a model together.
    together: int
    # Connections that predict during deploys.
    asking: int
    # Runs of pgbench with each query.
    rounds: int
    # Seconds of a pgbench run, and of a span of deploys.
    seconds: int


class Run:
    """The steps of a run, and what it is to be known by."""

    def __init__(self, site: Site, workload: Workload) -> None:
        self._site = site
        self._workload = workload
        self.xgboost = machine.UNKNOWN

    def scan(self) -> Subjects:
        """Scans in every form, beside XGBoost's own batch."""
        with in_memory(self._site) as xgboost, self._site.connect() as connection:
            self.xgboost = xgboost.version
            check(connection, xgboost)
            return {"scan": scans(self._site, xgboost, self._workload.repetitions)}

    def workers(self) -> Subjects:
        """Scans by parallel workers."""
        return {"workers": workers(self._site, self._workload.repetitions)}

    def statements(self) -> Subjects:
        """Statements that predict for many rows."""
        return {"statements": statements(self._site, self._workload.repetitions)}

    def one_row(self) -> Subjects:
        """The one-row query, by pgbench."""
        return {"one row": one_row(self._site, self._workload.seconds, self._workload.rounds)}

    def deploys(self) -> Subjects:
        """Pauses and stale answers while models change."""
        load = self._workload
        found = deploys(self._site, load.asking, load.seconds, load.repetitions)
        return dict(zip(("deploys", "stale"), found, strict=True))

    def copies(self) -> Subjects:
        """What many connections hold together."""
        return {"copies": self._copies(self._site)}

    def _copies(self, site: Site) -> Subject:
        return copies(site, self._workload.together, self._workload.repetitions)

    def fresh(self) -> Subjects:
        """First statements of connections and workers."""
        first = first_statements(self._site, self._workload.fresh)
        found = dict(zip(("fresh", "fresh memory"), first, strict=True))
        return found | {"fresh workers": first_in_workers(self._site, self._workload.fresh)}

    def preloaded(self) -> Subjects:
        """The same on a server that has the library from the start."""
        with preloaded(self._site) as site:
            first = first_statements(site, self._workload.fresh)
            found = dict(zip(("preloaded", "preloaded memory"), first, strict=True))
            found["preloaded workers"] = first_in_workers(site, self._workload.fresh)
            return found | {"preloaded copies": self._copies(site)}


# Each step's title, and what it measures. The last starts the server anew.
STEPS: dict[str, tuple[str, Callable[[Run], Subjects]]] = {
    "scan": (f"full scans of {ROWS:,} rows, in one process", Run.scan),
    "workers": (
        "full scans by one and by two parallel workers, and by two connections",
        Run.workers,
    ),
    "statements": ("whole statements, with batches and without", Run.statements),
    "one-row": ("pgbench, the one-row query", Run.one_row),
    "deploys": ("deploying while connections predict", Run.deploys),
    "copies": ("memory of connections that predict", Run.copies),
    "fresh": ("first predictions of fresh connections and workers", Run.fresh),
    "preloaded": ("the same with the library preloaded", Run.preloaded),
}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=5, help="of everything; %(default)s")
    parser.add_argument("--fresh", type=int, default=200, help="connections; %(default)s")
    parser.add_argument("--together", type=int, default=40, help="connections; %(default)s")
    parser.add_argument("--asking", type=int, default=4, help="during deploys; %(default)s")
    parser.add_argument("--rounds", type=int, default=9, help="of pgbench; %(default)s")
    parser.add_argument("--seconds", type=int, default=2, help="of a pgbench run; %(default)s")
    parser.add_argument("--only", nargs="+", choices=STEPS, help="measure these, record nothing")
    return parser.parse_args()


def _measured(teller: Teller, run: Run, names: list[str]) -> Iterator[Subjects]:
    for name, (title, measure) in STEPS.items():
        if name in names:
            with teller.step(title):
                yield measure(run)


def main() -> None:
    """Prepares as the demo does, measures, records, and prints the page."""
    arguments = _arguments()
    workload = Workload(**{n: getattr(arguments, n) for n in Workload.__dataclass_fields__})
    names = arguments.only or [*STEPS]
    teller = Teller(PREPARATION + len(names))
    began = now()
    with prepared(teller) as site:
        run = Run(site, workload)
        settings, versions, models = site.settings(), site.versions(), site.models()
        subjects: Subjects = {}
        for found in _measured(teller, run, names):
            subjects |= found
    result = Inside(
        schema=record.SCHEMA,
        started=began,
        finished=now(),
        commit=commit(),
        machine=machine.facts(),
        versions=versions | {"xgboost": run.xgboost},
        settings=settings,
        workload=vars(workload) | {"rows": ROWS},
        models=models,
        subjects=subjects,
    )
    with tempfile.TemporaryDirectory() as nowhere:
        name = f"{machine.short_name(result.machine)}-inside"
        directory = Path(nowhere) if arguments.only else new_directory(RESULTS, name)
        record.write(directory, result)
        print("\n" + page("inside.md", directory))
    if not arguments.only:
        say(
            f"recorded in bench/results/{directory.relative_to(RESULTS)}; make report makes the pages of it"
        )


if __name__ == "__main__":
    try:
        main()
    except (ClusterError, psycopg.OperationalError) as error:
        sys.exit(f"error: {error}")
