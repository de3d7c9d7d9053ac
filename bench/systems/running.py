"""The interface of a system, and the run of a cell: one load generator or program, or two for some requests.

The second one has no figures in the result, but none of its requests may fail, and the raw log has its
report. It sends predictions at a fixed rate, or a database's other work: pgbench's TPC-B-like transactions in
separate tables, as fast as possible.
"""

import json
import time
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import asdict, dataclass, replace
from pathlib import PurePath
from typing import Any, Protocol

from bench.answers import Answers
from bench.generators import Figures, Load, logged, pgbench, python_client
from bench.hosts import Address, Command, Parts, Service, Usage, run_measured
from bench.requests import REQUESTS, Request, RequestInputs
from bench.results import Loading
from bench.site import Site
from bench.workload import Cell

# Requests whose answers are not one prediction for a key, with the bodies that compare them.
MORE: dict[str, Callable[[Site], list[Any]]] = {
    "given": lambda site: site.features.tolist(),
    "three": lambda site: site.keys,
    "three_calls": lambda site: site.keys,
}
# pgbench's built-in transactions, over a million accounts.
OLTP, BUILTIN, SCALE = "oltp", "tpcb-like", 10
# Predictions per second during transactions, few enough for two cores to have time for both.
BESIDE_RATE = 1_000
# The second load generator runs this much longer than the measured one.
LONGER_SECONDS = 1


@dataclass(frozen=True)
class Asking:
    """A load generator's command, and the reader of its output."""

    command: Command
    environment: Mapping[str, str]
    read: Callable[[str], Figures]


class System(Protocol):
    """The interface of a system, with the parts that all have in common."""

    # The client of python_client.py that checks its answers.
    client = ""
    # The server that `start` started, if any, and the address for load generators.
    service: Service | None = None
    at: Address | None = None

    def __init__(self, site: Site) -> None:
        self._site = site
        self._asked = RequestInputs(0, ())

    def install(self) -> dict[str, str]:
        """Returns the versions of its parts; raises if one is missing."""

    def load(self) -> list[Loading]:
        """Loads the features, unless done."""

    def start(self, trees: int) -> None:
        """Starts its server with the model of that number of trees."""

    def stop(self) -> None:
        """Stops the server."""
        if self.service:
            self.service.stop()
            self.service = None

    def lacks(self, _: Cell) -> str | None:
        """Returns why the cell cannot be measured, or None."""
        return None

    def configuration(self) -> dict[str, Any]:
        """Returns its complete configuration."""

    def parts(self) -> Parts:
        """Returns the processes whose CPU time and memory are measured, by part."""

    def asking(self, cell: Cell, load: Load, log: PurePath) -> Asking:
        """Returns the load generator of a cell; it may log single requests to files with the prefix `log`."""

    @property
    def where(self) -> str:
        """The URL or the connection string for programs."""

    def calls(self, request: Request) -> list[str]:
        """Returns a program's calls, made one after the other: URLs, or statements with placeholders."""

    def answered(self, calls: Sequence[str], bodies: Sequence[Any]) -> list[list[float]]:
        """Makes the calls from the client's host; returns each body's answers to all of them."""
        asked = {"client": self.client, "where": self.where}
        return self._site.ask("by_client", calls=calls, bodies=bodies, **asked)

    def exact(self, said: list[Any]) -> Answers:
        """Converts answers to 32-bit floats."""

    def check(self, asked: Set[str]) -> dict[str, Answers]:
        """Returns the answers to the key set, by each way of asking that these requests time.

        This method covers the requests of `MORE`.
        """
        site, most = self._site, len(self._site.keys_alone)
        return {
            name: self.exact(self.answered(self.calls(REQUESTS[name]), MORE[name](site)[:most]))
            for name in sorted(asked & MORE.keys())
        }

    def logged(self, kind: str, log: PurePath, load: Load) -> Figures:
        """Reads and deletes a generator's log of single requests, on the client's host."""
        asked = {"kind": kind, "log": str(log), "load": asdict(load)}
        return logged(self._site.client.call("bench.generators.request_log:read", **asked))

    def by_pgbench(
        self, scripts: Any, protocol: str, at: Address | None, load: Load, log: PurePath
    ) -> Asking:
        """Runs pgbench with scripts, or with a built-in one."""
        database = self._site.database
        program = pgbench.Program(database.program("pgbench"), protocol, self._site.client.cores)
        return Asking(
            pgbench.command(program, scripts, load, log), database.environment(at),
            lambda said: pgbench.parse(said, self.logged("pgbench", log, load), load.warm_up),
        )  # fmt: skip

    def _by_program(self, cell: Cell, load: Load) -> Asking:
        """Runs a Python program, without a password in its command."""
        site, request, host = self._site, REQUESTS[cell.request], self._site.client
        path = site.directory / "questions" / f"{cell.name.replace('/', '-')}.json"
        path.parent.mkdir(exist_ok=True)
        in_sql = self.client == python_client.SQL
        known = site.database.environment(self.at) if in_sql else {}
        question = {
            "client": cell.variant, "where": "" if in_sql else self.where, "load": asdict(load),
            "calls": self.calls(request), "bodies": request.bodies(self._asked),
        }  # fmt: skip
        path.write_text(json.dumps(question))
        host.put(path)
        command = [host.python, "-m", python_client.__name__, path]
        return Asking(command, known | {"PYTHONPATH": str(host.root)}, python_client.parse)

    def _asking(self, request: str, cell: Cell, load: Load, log: PurePath) -> Asking:
        if request == OLTP:
            self._site.database.make_accounts(SCALE)
            return self.by_pgbench(BUILTIN, "simple", None, load, log)
        if cell.variant in python_client.CLIENTS:
            return self._by_program(cell, load)
        return self.asking(replace(cell, request=request), load, log)

    def run(self, cell: Cell, load: Load) -> tuple[str, Figures, Usage]:
        """Runs a cell; returns the load generator's report, its figures and the usage."""
        logs = self._site.client.directory / "request-logs"
        # Logs of earlier runs are deleted.
        self._site.client.run(["sh", "-c", 'rm -rf "$1" && mkdir -p "$1"', "sh", str(logs)])
        if beside := REQUESTS[cell.request].beside:
            return self._run_beside(*beside, cell, load, logs)
        asking = self._asking(cell.request, cell, load, logs / "requests")
        output, usage = self._measured(asking, self.parts())
        return output, asking.read(output), usage

    def _measured(self, asking: Asking, parts: Parts) -> tuple[str, Usage]:
        host, carriers = self._site.client, self._site.topology.links.processes()
        return run_measured(host, asking.command, parts, asking.environment, carriers)

    def _run_beside(
        self, request: str, beside: str, cell: Cell, load: Load, logs: PurePath
    ) -> tuple[str, Figures, Usage]:
        host, said = self._site.client, logs / "said"
        rate = None if beside == OLTP else BESIDE_RATE
        more = replace(load, seconds=load.seconds + LONGER_SECONDS, rate=rate)
        other = self._asking(beside, cell, more, logs / "beside")
        asking = self._asking(request, cell, load, logs / "requests")
        ends = time.monotonic() + more.end + pgbench.CONNECTING_SECONDS
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
