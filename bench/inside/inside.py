"""The steps of the measurement: scans, the one-row query, deploys, memory, first predictions."""

import argparse
from collections.abc import Callable
from typing import Any

from bench.inside.connections import copies, first_in_workers, first_statements
from bench.inside.deploys import deploys
from bench.inside.one_row import one_row
from bench.inside.scans import scans, statements, workers
from bench.inside.series import Subject
from bench.inside.site import PREPARATION, ROWS, Site, prepared, running
from tools.workbench.console import Teller

Subjects = dict[str, Subject]
OPTIONS = {
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
    with running({"shared_preload_libraries": "pgboost"}) as cluster:
        again = Site(cluster, site.files)
        held = copies(again, load.together, load.repetitions)
        return _first(again, "preloaded", load.fresh) | {"preloaded copies": held}


# Each step's title and function. The last one restarts the server.
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


def measure(given: argparse.Namespace) -> dict[str, Any]:
    """Runs all steps, or those of --only."""
    names = given.only or [*STEPS]
    teller = Teller(PREPARATION + len(names))
    with running() as cluster:
        site = prepared(cluster, teller)
        found = {
            "versions": site.versions(), "settings": site.settings(), "models": site.models(),
            "workload": {name: getattr(given, name) for name in OPTIONS} | {"rows": ROWS},
        }  # fmt: skip
        subjects: Subjects = {}
        for name, (title, step) in STEPS.items():
            if name in names:
                with teller.step(title):
                    subjects |= step(site, given)
        return found | {"subjects": subjects}
