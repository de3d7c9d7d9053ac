"""`python -m bench.ladder`: from a row to its prediction by every rung, and by which steps.

Builds the caller and the rungs, makes the data sets with their models, and lets every rung answer every row:
all must give the bits of Booster.predict, or nothing is timed. Then each is asked by one client, verb by
verb, all in turn. In the same run the caller is held against pgbench and wrk (crosscheck.py). Writes
ladder.json, which docs/benchmarks/ladder.md is made from.
"""

import argparse
import fnmatch
import json
import subprocess
from contextlib import ExitStack
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from bench import machine, record
from bench.database import Database
from bench.generators import Load, caller
from bench.hosts import STATE, Host, local
from bench.ladder import crosscheck
from bench.ladder.servers import Servers
from bench.measuring import say
from bench.request_logs import RequestLogs
from bench.rungs import PREDICTING, Rung, builds, described
from bench.turns import in_turn

SETS = ("titanic", "flights")
CLIENTS = 1
WARM_UP_SECONDS = 0.1
MAX_SECONDS = 5

Measured = dict[str, float]


class Unanswered(Exception):
    """A rung that answers too seldom to be measured."""


def prepare(host: Host) -> Path:
    """Builds, and makes the data sets; where they are."""
    for build in builds():
        say(f"build {build.parent.name}")
        subprocess.run([build], check=True)
    directory = STATE / "ladder"
    say("the data sets and their models")
    host.call("bench.ladder.data:prepare_all", apart=True, directory=str(directory))
    return directory


def compare(servers: Servers, rungs: list[Rung]) -> dict[str, int]:
    """How many answers of each rung and verb were equal to the bit; an error where one is not."""
    found = {}
    for rung in rungs:
        for verb in rung.verbs:
            if verb in PREDICTING and not rung.control:
                question = servers.question(rung, verb, rung.block)
                command = caller.checking(servers.caller(rung), question)
                said = servers.host.run(command)
                found[f"{rung.name}/{verb}"] = json.loads(said)["compared"]
    say(f"{servers.name}: all {sum(found.values()):,} answers equal XGBoost's to the bit")
    return found


def measure(servers: Servers, rung: Rung, verb: str, seconds: float) -> Measured:
    """One run: nanoseconds a row. Where no request begins in so many seconds, it takes longer."""
    before = _cpu(servers, rung)
    figures = _asked(servers, rung, verb, seconds)
    if not figures["latency_ms"]:
        if seconds > MAX_SECONDS:
            raise Unanswered(f"{servers.name}/{rung.name}/{verb}: no request in {seconds} seconds")
        return measure(servers, rung, verb, 4 * seconds)
    cpu = _cpu(servers, rung) - before
    found = {name: ms * 1e6 / rung.rows for name, ms in figures["latency_ms"].items()}
    print(f"    {servers.name}/{rung.name}/{verb}: {found['mean']:,.1f} ns", flush=True)
    return found | {"server_cpu": cpu * 1e9 / rung.rows / figures["requests"]}


def _asked(servers: Servers, rung: Rung, verb: str, seconds: float) -> dict[str, Any]:
    """What the caller's log says of a run."""
    host, logs = servers.host, RequestLogs(servers.host)
    log = logs.fresh()
    load = Load(CLIENTS, 1, 0, warm_up=0)
    question = servers.question(rung, verb, rung.rows)
    host.run(caller.command(servers.caller(rung), question, load, log, WARM_UP_SECONDS + seconds))
    return host.call(
        "bench.generators.request_log:read", kind="caller", log=str(log), warm_up=WARM_UP_SECONDS,
        seconds=seconds, rate=None,
    )  # fmt: skip


def _cpu(servers: Servers, rung: Rung) -> float:
    """Processor seconds of what is asked, since it began."""
    pids = [process.pid for roots in servers.parts(rung).values() for process in roots]
    return servers.host.call("bench.processes:cpu_seconds", roots=pids) if pids else 0.0


def _cells(rungs: list[Rung], name: str) -> list[tuple[Rung, str]]:
    """All verbs on the first data set; predictions alone on the other."""
    wanted = [(rung, verb) for rung in rungs for verb in rung.verbs]
    return [(r, v) for r, v in wanted if name == SETS[0] or v in PREDICTING]


def run(chosen: list[Rung], seconds: float, repetitions: int) -> dict[str, Any]:
    """The whole result; whatever was started is stopped."""
    began = record.now()
    found: dict[str, Any] = {}
    with ExitStack() as stack:
        host = local()
        stack.callback(host.close)
        directory = prepare(host)
        database = Database(host, host)
        stack.callback(database.stop)
        for name in SETS:
            servers = Servers(host, database, directory / name, int(host.facts()["cores"]))
            stack.callback(servers.stop)
            servers.start(chosen)
            compared = compare(servers, chosen)
            values = in_turn(
                {
                    f"{rung.name}/{verb}": partial(measure, servers, rung, verb, seconds)
                    for rung, verb in _cells(chosen, name)
                },
                repetitions,
                warm_ups=1,
            )
            checked = crosscheck.checked(servers, chosen) if name == SETS[0] else []
            known = json.loads(servers.rows.read_text())
            found[name] = {
                "rows": len(known["rows"]), "columns": len(known["columns"]), "rounds": known["rounds"],
                "depth": known["depth"], "xgboost": known["xgboost"], "compared": compared,
                "cells": values, "crosscheck": checked,
            }  # fmt: skip
            servers.stop()
        versions = crosscheck.versions(host, database if _asks_postgres(chosen) else None)
    plan = {"seconds": seconds, "repetitions": repetitions, "clients": CLIENTS}
    return {
        "schema": 1, "started": began, "finished": record.now(), "commit": record.commit(),
        "machine": machine.facts(), "versions": versions, "plan": plan,
        "rungs": {rung.name: asdict(rung) for rung in chosen}, "sets": found,
    }  # fmt: skip


def _asks_postgres(rungs: list[Rung]) -> bool:
    return any(rung.postgres for rung in rungs)


def main() -> None:
    """Measures and writes the result."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", action="append", metavar="PATTERN", help="rungs, such as 'pg_*'")
    parser.add_argument("--seconds", type=float, default=0.4, help="of a run")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--output", type=Path, default=record.RESULTS)
    given = parser.parse_args()
    patterns = given.only or ["*"]
    chosen = [
        rung
        for name, rung in described().items()
        if any(fnmatch.fnmatch(name, pattern) for pattern in patterns)
    ]
    result = run(chosen, given.seconds, given.repetitions)
    path = record.directory(given.output, "ladder") / "ladder.json"
    record.write(path, result)
    print(f"results in {path}")


if __name__ == "__main__":
    main()
