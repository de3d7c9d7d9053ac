"""The interface of a system, and the run of a cell: a load generator or a program."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import PurePath
from typing import Any, Protocol

from bench.answers import Answers, flat
from bench.generators import Figures, Load, logged, python_client
from bench.hosts import Address, Command, Parts, Service, Usage, run_measured
from bench.requests import REQUESTS, Request, RequestInputs
from bench.results import Loading
from bench.site import Site
from bench.workload import Cell


@dataclass(frozen=True)
class Asking:
    """A load generator's command, and the reader of its output."""

    command: Command
    environment: Mapping[str, str]
    read: Callable[[str], Figures]


class System(Protocol):
    """The interface of a system, with the parts that all have in common."""

    # The client of python_client.py that asks for the answers that are compared, and whether these are exact.
    client = ""
    exact = False
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

    def call(self, request: Request, body: Any) -> tuple[str, Any]:
        """Returns a program's call for a body: a URL and JSON, or a statement and its parameters."""

    def answers(self, name: str, bodies: Sequence[Any]) -> dict[str, Answers]:
        """Sends a request's bodies from the client's host; returns the answers by each way of asking."""
        calls = [self.call(REQUESTS[name], body) for body in bodies]
        asked = {"client": self.client, "where": self.where, "calls": calls}
        return {name: [*map(flat, self._site.ask("by_client", **asked))]}

    def logged(self, kind: str, log: PurePath, load: Load) -> Figures:
        """Reads and deletes a generator's log of single requests, on the client's host."""
        asked = {"kind": kind, "log": str(log), "load": asdict(load)}
        return logged(self._site.client.call("bench.generators.request_log:read", **asked))

    def _by_program(self, cell: Cell, load: Load) -> Asking:
        """Runs a Python program, without a password in its command."""
        site, request, host = self._site, REQUESTS[cell.request], self._site.client
        path = site.directory / "questions" / f"{cell.name.replace('/', '-')}.json"
        path.parent.mkdir(exist_ok=True)
        in_sql = self.client == python_client.SQL
        known = site.database.environment(self.at) if in_sql else {}
        question = {
            "client": cell.variant, "where": "" if in_sql else self.where, "load": asdict(load),
            "calls": [self.call(request, body) for body in request.bodies(self._asked)],
        }  # fmt: skip
        path.write_text(json.dumps(question))
        host.put(path)
        command = [host.python, "-m", python_client.__name__, path]
        return Asking(command, known | {"PYTHONPATH": str(host.root)}, python_client.parse)

    def run(self, cell: Cell, load: Load) -> tuple[str, Figures, Usage]:
        """Runs a cell; returns the load generator's report, its figures and the usage."""
        logs = self._site.client.directory / "request-logs"
        # Logs of earlier runs are deleted.
        self._site.client.run(["sh", "-c", 'rm -rf "$1" && mkdir -p "$1"', "sh", str(logs)])
        if cell.variant in python_client.CLIENTS:
            asking = self._by_program(cell, load)
        else:
            asking = self.asking(cell, load, logs / "requests")
        carriers = self._site.topology.links.processes()
        output, usage = run_measured(
            self._site.client, asking.command, self.parts(), asking.environment, carriers
        )
        return output, asking.read(output), usage
