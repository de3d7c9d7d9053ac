"""`python -m bench.ladder`: from a row to its prediction by every rung, and by which steps.

Builds the caller and the rungs, makes the data sets with their models, and lets every rung answer the rows:
all must give the bits of Booster.predict, or nothing is timed. Then each is asked by one client, verb by
verb, all in turn. In the same run the caller is held against pgbench and wrk (crosscheck.py). A rung that
fails is left out and named. Writes ladder.json, which docs/benchmarks/ladder.md is made from.
"""

import argparse
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from bench.attempts import Attempts
from bench.generators import Load
from bench.ladder import crosscheck
from bench.ladder.servers import Servers
from bench.ladder.stage import Stage, Unanswered, chosen, command
from bench.rungs import PREDICTING, Rung, described
from bench.turns import in_turn

SETS = ("titanic", "flights")
CLIENTS = 1
WARM_UP_SECONDS = 0.1
MAX_SECONDS = 5
# About what a run takes beside its seconds, and a comparison of answers; progress is told by them.
AROUND_SECONDS, COMPARE_SECONDS = 0.2, 1.0

Measured = dict[str, float]
# Each verb of each rung.
Cells = dict[str, tuple[Rung, str]]


@dataclass(frozen=True)
class Plan:
    """Who is asked, and how long and how often."""

    rungs: list[Rung]
    seconds: float
    repetitions: int

    def cells(self, of: str) -> Cells:
        """All verbs on the first data set; predictions alone on the other."""
        wanted = [(rung, verb) for rung in self.rungs for verb in rung.verbs]
        return {f"{r.name}/{v}": (r, v) for r, v in wanted if of == SETS[0] or v in PREDICTING}

    @property
    def predicting(self) -> Cells:
        """Whose answers are compared."""
        return {name: one for name, one in self.cells(SETS[1]).items() if not one[0].control}

    @property
    def run_seconds(self) -> float:
        """What one run takes."""
        return WARM_UP_SECONDS + self.seconds + AROUND_SECONDS

    @property
    def planned_seconds(self) -> float:
        """What all takes."""
        runs = self.repetitions * sum(len(self.cells(name)) for name in SETS)
        compared = len(SETS) * len(self.predicting)
        return runs * self.run_seconds + compared * COMPARE_SECONDS + crosscheck.PLANNED_SECONDS


def compare(servers: Servers, plan: Plan, attempts: Attempts) -> dict[str, int]:
    """How many answers of each rung and verb were equal to the bit; one that is not ends the run."""
    found = {}
    for name, (rung, verb) in plan.predicting.items():
        every = rung.every if servers.name != SETS[0] else 1
        part = partial(servers.compare, rung, verb, every=every)
        if number := attempts.make(rung.name, part, COMPARE_SECONDS):
            found[name] = number
            attempts.say(f"{servers.name}/{name}: {number:,} answers equal XGBoost's to the bit")
    return found


def measure(servers: Servers, rung: Rung, verb: str, seconds: float) -> Measured:
    """One run: nanoseconds a row. Where no request begins in so many seconds, it takes longer."""
    before = _cpu(servers, rung)
    figures = servers.asked(rung, verb, Load(CLIENTS, seconds, 0, warm_up=WARM_UP_SECONDS))
    if not figures.latency_ms:
        if seconds > MAX_SECONDS:
            raise Unanswered(f"{verb}: no request in {seconds} seconds")
        return measure(servers, rung, verb, 4 * seconds)
    cpu = _cpu(servers, rung) - before
    found = {name: ms * 1e6 / rung.rows for name, ms in figures.latency_ms.items()}
    return found | {"server_cpu": cpu * 1e9 / rung.rows / figures.requests}


def _cpu(servers: Servers, rung: Rung) -> float:
    """Processor seconds of what is asked, since it began."""
    pids = [process.pid for roots in servers.parts(rung).values() for process in roots]
    return servers.host.call("bench.processes:cpu_seconds", roots=pids) if pids else 0.0


def _tried(
    servers: Servers, plan: Plan, attempts: Attempts, rung: Rung, verb: str
) -> Measured | None:
    part = partial(measure, servers, rung, verb, plan.seconds)
    found = attempts.make(rung.name, part, plan.run_seconds)
    if found:
        attempts.say(f"{servers.name}/{rung.name}/{verb}: {found['mean']:,.1f} ns")
    return found


def of_set(
    servers: Servers, plan: Plan, attempts: Attempts, keep: Callable[[dict[str, Any]], None]
) -> None:
    """Measures a data set; `keep` is told what there is, as it comes: of a rung that fails nothing."""
    servers.start(plan.rungs, attempts)
    known = json.loads(servers.rows.read_text())
    found = {
        "rows": len(known["rows"]), "columns": len(known["columns"]), "rounds": known["rounds"],
        "depth": known["depth"], "xgboost": known["xgboost"],
        "compared": compare(servers, plan, attempts), "cells": {}, "crosscheck": [],
    }  # fmt: skip
    asked = plan.cells(servers.name)

    def kept(values: dict[str, list[Measured | None]]) -> None:
        cells = {name: runs for name, runs in values.items() if asked[name][0].name not in failed}
        keep(found | {"cells": cells})

    failed = attempts.failed
    measures = {name: partial(_tried, servers, plan, attempts, *one) for name, one in asked.items()}
    values = in_turn(measures, plan.repetitions, after=kept)
    if servers.name == SETS[0]:
        found["crosscheck"] = crosscheck.checked(servers, plan.rungs, attempts)
    kept(values)


def run(given: argparse.Namespace, stage: Stage) -> None:
    """Leaves the whole result there, and what there is as it comes."""
    every = described()
    rungs = [every[name] for name in chosen(every, given.only)]
    plan = Plan(rungs, given.seconds, given.repetitions)
    attempts = Attempts(plan.planned_seconds)
    asked = {"seconds": plan.seconds, "repetitions": plan.repetitions, "clients": CLIENTS}
    sets: dict[str, Any] = {}
    stage.begin(
        attempts, any(rung.postgres for rung in plan.rungs), plan=asked,
        rungs={rung.name: asdict(rung) for rung in plan.rungs}, sets=sets,
    )  # fmt: skip

    def keep(name: str, found: dict[str, Any]) -> None:
        sets[name] = found
        stage.keep()

    for name in SETS:
        with stage.servers(name) as servers:
            of_set(servers, plan, attempts, partial(keep, name))
    stage.finish()


if __name__ == "__main__":
    command("ladder", {"seconds": (0.4, "of a run"), "repetitions": (3, "of each verb")}, run)
