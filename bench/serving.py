"""`python -m bench.serving`: Go, FastAPI, Flask and PostgreSQL as services of one model.

32 clients ask in a closed loop for one prediction, for a hundred, and for the ten best of 1,682 candidates
of a key; on one core and on all, with one worker and with as many as cores. All keys' answers are
compared first, to the bit; a service that fails is left out and named. Writes serving.json, which
docs/benchmarks/serving.md is made from.
"""

import argparse
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial

from bench.attempts import Attempts
from bench.generators import Load
from bench.ladder.servers import Servers
from bench.ladder.stage import Stage, chosen, command
from bench.rungs import Rung, described
from bench.turns import in_turn

SET = "flights"
# Rows in a request, by its kind.
VERBS = {"key": 1, "keys": 100, "top": 1}
POSTGRES = ("pg_simple", "pg_binary")
ONE, ALL = "one core", "all cores"
CLIENTS, WARM_UP_SECONDS = 32, 0.5
# About what a run takes beside its seconds, and a comparison of answers; progress is told by them.
AROUND_SECONDS, COMPARE_SECONDS = 0.5, 1.5

Measured = dict[str, float]


@dataclass(frozen=True)
class Service:
    """A rung as it is started: on which cores, with how many workers (0: it has no such)."""

    rung: Rung
    of: str
    cores: str
    workers: int

    @property
    def pinned(self) -> bool:
        """Whether it has one core alone."""
        return self.cores == ONE


def services(cores: int) -> Iterator[Service]:
    """All there are."""
    for name, rung in described().items():
        for where in (ONE, ALL) if rung.serving or name in POSTGRES else ():
            counts = [0]
            if any("{workers}" in word for word in rung.serving):
                counts = [1] if where == ONE else [*dict.fromkeys((1, cores))]
            for workers in counts:
                command = [word.replace("{workers}", str(workers)) for word in rung.serving]
                prefix = ["taskset", "--cpu-list", "0"] if where == ONE and command else []
                own = f"{name}-{where.split()[0]}-{workers}"
                # As the services are asked, PostgreSQL is: over TCP.
                over = rung.postgres and "tcp"
                started = replace(rung, name=own, command=(*prefix, *command), postgres=over)
                yield Service(started, name, where, workers)


def _pin(servers: Servers, pinned: bool) -> None:
    """The postmaster, whose new backends follow."""
    every = ",".join(map(str, sorted(os.sched_getaffinity(0))))
    pid = str(servers.database.roots()[0].pid)
    servers.host.run(
        ["taskset", "--all-tasks", "--cpu-list", "--pid", "0" if pinned else every, pid]
    )


def compare(servers: Servers, found: list[Service], attempts: Attempts) -> int:
    """How many answers were equal to the bit; one that is not ends the run."""
    total = 0
    for one in found:
        for verb, block in VERBS.items():
            part = partial(servers.compare, one.rung, verb, block)
            total += attempts.make(one.rung.name, part, COMPARE_SECONDS) or 0
        attempts.say(f"{one.rung.name}: answers compared")
    return total


def measure(servers: Servers, one: Service, verb: str, load: Load) -> Measured:
    """One run: requests a second, ms, and the servers' memory in MB."""
    if one.rung.postgres:
        _pin(servers, one.pinned)
    question = servers.question(one.rung, verb, VERBS[verb])
    log, usage = servers.watched(one.rung, question, load)
    figures = servers.logs.figures("caller", log, load)
    rate, memory = figures.requests_per_second, usage.server.pss_bytes / 1e6
    cpu = usage.server.cpu_seconds / figures.requests * 1e6
    return figures.latency_ms | {"rate": rate, "mb": memory, "us": cpu}


def run(given: argparse.Namespace, stage: Stage) -> None:
    """Leaves the whole result there, and what there is as it comes."""
    load, repetitions = Load(CLIENTS, given.seconds, 0, warm_up=WARM_UP_SECONDS), given.repetitions
    every = {one.rung.name: one for one in services(stage.cores)}
    found = {name: every[name] for name in chosen(every, given.only)}
    cells = {f"{name}/{verb}": (name, verb) for name in found for verb in VERBS}
    a_run = load.warm_up + load.seconds + AROUND_SECONDS
    attempts = Attempts(len(cells) * (COMPARE_SECONDS + repetitions * a_run))
    stage.begin(attempts, True, load=asdict(load), repetitions=repetitions)
    with stage.servers(SET) as servers:
        servers.start([one.rung for one in found.values()], attempts, candidates=True)
        compared = compare(servers, [*found.values()], attempts)

        def tried(name: str, verb: str) -> Measured | None:
            values = attempts.make(name, partial(measure, servers, found[name], verb, load), a_run)
            if values:
                attempts.say(
                    f"{name}/{verb}: {values['rate']:,.0f} requests/s, {values['mb']:,.0f} MB"
                )
            return values

        def keep(values: dict[str, list[Measured | None]]) -> None:
            good = {name: one for name, one in found.items() if name not in attempts.failed}
            stage.keep(
                compared=compared, cells={n: v for n, v in values.items() if cells[n][0] in good},
                services={
                    name: {"of": one.of, "label": one.rung.label, "cores": one.cores, "workers": one.workers}
                    for name, one in good.items()
                },
            )  # fmt: skip

        measures = {name: partial(tried, *one) for name, one in cells.items()}
        in_turn(measures, repetitions, after=keep)
    stage.finish()


if __name__ == "__main__":
    command("serving", {"seconds": (2, "of a run"), "repetitions": (3, "of each")}, run)
