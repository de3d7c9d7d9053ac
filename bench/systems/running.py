"""A run of a cell: a load generator or a program asks, and where the request says so another one beside it.

What asks beside has no figures of its own in the result: no request of its may fail, and what it reported
stands in the raw log. It is predictions at a fixed rate, or what a database has to do anyway: pgbench's
TPC-B-like transactions in tables of their own, as fast as they go.
"""

import json
import time
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any

from bench.answers import Answers
from bench.generators import Figures, Load, pgbench, python_client
from bench.hosts import Address, Command, Parts, Usage
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
# Transactions: pgbench's own script, of a million accounts.
OLTP, BUILTIN, SCALE = "oltp", "tpcb-like", 10
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

    # Who asks for what is compared: one of python_client's.
    client = ""

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

    @property
    def where(self) -> str:
        """What a program connects to: a URL, or a connection string."""
        raise NotImplementedError

    def calls(self, request: Request) -> list[str]:
        """What a program asks, one after the other: URLs, or statements with placeholders."""
        raise NotImplementedError

    def answered(self, calls: Sequence[str], bodies: Sequence[Any]) -> list[list[float]]:
        """To each body the answers to all calls, asked for from the client's host."""
        asked = {"client": self.client, "where": self.where}
        return self._site.ask("by_client", calls=calls, bodies=bodies, **asked)

    def exact(self, said: list[list[float]]) -> Answers:
        """The answers as 32-bit floats."""
        raise NotImplementedError

    def check(self, asked: Set[str]) -> dict[str, Answers]:
        """The answers by those kinds of requests whose answers differ from the usual one's."""
        site = self._site
        most = len(site.keys_alone(self._asked.trees))
        return {
            name: self.exact(self.answered(self.calls(REQUESTS[name]), MORE[name](site)[:most]))
            for name in sorted(asked & MORE.keys())
        }

    def by_pgbench(
        self, scripts: Any, protocol: str, at: Address | None, load: Load, log: PurePath
    ) -> Asking:
        """pgbench with scripts, or with one of its own."""
        database = self._site.database
        program = pgbench.Program(database.program("pgbench"), protocol, self._site.client_cores)
        command = pgbench.command(program, scripts, load, log)

        def read(said: str) -> Figures:
            return pgbench.parse(said, self._logs.figures("pgbench", log, load), load.warm_up)

        return Asking(command, database.environment(at), read)

    def _by_program(self, cell: Cell, load: Load) -> Asking:
        """A program of Python's, which has no password in its command."""
        site, request = self._site, REQUESTS[cell.request]
        path = site.directory / "questions" / f"{cell.name.replace('/', '-')}.json"
        path.parent.mkdir(exist_ok=True)
        question = {"calls": self.calls(request), "bodies": request.bodies(self._asked)}
        path.write_text(json.dumps(question))
        site.client.put(path)
        in_sql = self.client == python_client.SQL
        known = site.database.environment(self.at) if in_sql else {}
        program = python_client.Program(
            site.client.python, cell.variant, "" if in_sql else self.where, site.client_cores
        )
        command = python_client.command(program, path, load)
        path_there = {"PYTHONPATH": str(site.client.root)}
        return Asking(command, known | path_there, python_client.parse)

    def _asking(self, request: str, cell: Cell, load: Load, log: PurePath) -> Asking:
        if request == OLTP:
            self._site.database.make_accounts(SCALE)
            return self.by_pgbench(BUILTIN, "simple", None, load, log)
        if cell.variant in python_client.CLIENTS:
            return self._by_program(cell, load)
        return self.asking(replace(cell, request=request), load, log)

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
        rate = None if beside == OLTP else BESIDE_RATE
        more = replace(load, seconds=load.seconds + LONGER_SECONDS, rate=rate)
        other = self._asking(beside, cell, more, other_log)
        asking = self._asking(request, cell, load, log)
        said = other_log.with_name("said")
        ends = time.monotonic() + more.warm_up + more.seconds + pgbench.CONNECTING_SECONDS
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
