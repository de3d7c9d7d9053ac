"""A run of a cell: a load generator asks, and where the request says so another one asks beside it.

What asks beside has no figures of its own in the result: no request of its may fail, and what it reported
stands in the raw log. It is predictions at a fixed rate, or an application's transactions as fast as they go.
"""

import time
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Any

import numpy as np

from bench import oltp
from bench.answers import Answers, single_precision
from bench.generators import Figures, Load, python_client
from bench.generators.pgbench import CONNECTING_SECONDS
from bench.hosts import Parts, Usage
from bench.hosts.host import Command
from bench.request_logs import RequestLogs
from bench.requests import REQUESTS, Asked, Request
from bench.site import Site
from bench.workload import Cell

# What differs in its answers from one prediction for a key, and what is asked to compare those.
MORE: dict[str, Callable[[Site], list[Any]]] = {
    "given": lambda site: site.features.tolist(),
    "three": lambda site: site.keys,
    "three_calls": lambda site: site.keys,
}
SQL = "psycopg"
# Predictions per second beside transactions, few enough for two cores to have time for both.
BESIDE_RATE = 1_000
# What is beside goes on for so much longer than what is measured.
LONGER_SECONDS = 1


@dataclass(frozen=True)
class Asking:
    """A load generator to be started, and what its output says."""

    command: Command
    environment: Mapping[str, str]
    read: Callable[[str], Figures]


class Running:
    """What all systems have in common that are asked by load generators."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._logs = RequestLogs(site.client)
        self._asked = Asked(0, ())

    def parts(self) -> Parts:
        """The processes whose time and memory count."""
        raise NotImplementedError

    def asking(self, cell: Cell, load: Load, log: PurePath) -> Asking:
        """The load generator of a cell's request; it may log single requests into files that begin so."""
        raise NotImplementedError

    def _asking(self, request: str, cell: Cell, load: Load, log: PurePath) -> Asking:
        if request == oltp.REQUEST:
            command, environment = oltp.command(self._site, load, log)
            return Asking(
                command, environment, lambda said: oltp.parse(said, self._logs, log, load)
            )
        return self.asking(replace(cell, request=request), load, log)

    def more_answers(
        self, asked: Set[str], client: str, where: str, calls: Callable[[Request], list[str]]
    ) -> dict[str, Answers]:
        """The answers by those kinds of requests whose answers differ from the usual one's."""
        site, found = self._site, {}
        keys = site.keys_alone(self._asked.trees)
        for name in sorted(asked & MORE.keys()):
            bodies = MORE[name](site)[: len(keys)]
            said = site.ask(
                "by_client", client=client, where=where, calls=calls(REQUESTS[name]), bodies=bodies
            )
            # By HTTP all digits come, in SQL the fewest that no other real shares.
            found[name] = np.array(said, np.float32) if client == SQL else single_precision(said)
        return found

    def by_program(
        self, cell: Cell, load: Load, question: Path, where: str = "", **environment: str
    ) -> Asking:
        """A program of Python's in place of pgbench or wrk."""
        host, cores = self._site.client, self._site.client_cores
        program = python_client.Program(host.python, cell.variant, where, cores)
        command = python_client.command(program, question, load)
        return Asking(command, environment | {"PYTHONPATH": str(host.root)}, python_client.parse)

    def run(self, cell: Cell, load: Load) -> tuple[str, Figures, Usage]:
        """The report, what it says, and what was used."""
        log = self._logs.fresh()
        beside = REQUESTS[cell.request].beside
        if beside:
            return self._run_beside(*beside, cell, load, log)
        asking = self._asking(cell.request, cell, load, log)
        output, usage = self._measured(asking, self.parts())
        return output, asking.read(output), usage

    def _measured(self, asking: Asking, parts: Parts) -> tuple[str, Usage]:
        return self._site.run_measured(asking.command, parts, {**asking.environment})

    def _run_beside(
        self, request: str, beside: str, cell: Cell, load: Load, log: PurePath
    ) -> tuple[str, Figures, Usage]:
        host, other_log = self._site.client, log.with_name("beside")
        rate = None if beside == oltp.REQUEST else BESIDE_RATE
        more = replace(load, seconds=load.seconds + LONGER_SECONDS, rate=rate)
        other = self._asking(beside, cell, more, other_log)
        asking = self._asking(request, cell, load, log)
        said = other_log.with_name("said")
        ends = time.monotonic() + more.warm_up + more.seconds + CONNECTING_SECONDS
        service = host.start(other.command, said, other.environment)
        try:
            parts = {"postgres": self._site.database.roots(), **self.parts()}
            output, usage = self._measured(asking, parts)
            time.sleep(max(0.0, ends + LONGER_SECONDS - time.monotonic()))
        finally:
            service.stop()
        report = host.run(["cat", str(said)])
        figures, found = asking.read(output), other.read(report)
        return f"{output}\nbeside: {beside}, {found}\n{report}", figures, usage
