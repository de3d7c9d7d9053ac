"""What every kind of host can do; systems and load generators ask for no more.

A host has a directory for the harness's files and a copy of this repository with its
Python. `Path` names a file of the machine that the harness runs on, and a host turns one that
stands in a command into its own name for it (`there`); a text it takes as it is.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, Protocol

from bench.processes import Seen, Trees
from bench.results import Used

ROOT = Path(__file__).resolve().parents[2]
STATE = ROOT / ".bench"

Command = Sequence[str | PurePath]
Environment = Mapping[str, str]

_FREE_PORT = (
    "import socket, sys; s = socket.socket(); s.bind((sys.argv[1], 0)); print(s.getsockname()[1])"
)


class CommandFailed(Exception):
    """A command that could not be run, or did not do what it should."""


@dataclass(frozen=True)
class Timed:
    """What a command printed, and what it used until it ended."""

    output: str
    seconds: float
    used: Used


class Watching(Protocol):
    """A watch over trees of processes that has begun."""

    def finish(self) -> Seen:
        """Ends it."""


@dataclass(frozen=True)
class Process:
    """A process, and all that descends from it, somewhere."""

    host: "Host"
    pid: int


@dataclass(frozen=True)
class Service:
    """A server that this harness started."""

    host: "Host"
    name: str
    pid: int
    # When it began, in the kernel's ticks: a later process of the same number is another.
    began: int
    log: PurePath

    @property
    def process(self) -> Process:
        """The root of its tree of processes."""
        return Process(self.host, self.pid)

    def last_words(self) -> str:
        """The end of its log, for an error message."""
        return self.host.run(["tail", "--lines=10", str(self.log)])

    def check_alive(self) -> None:
        """Raises an error with the log's end where the server has ended."""
        if not self.host.is_alive(self):
            raise CommandFailed(f"{self.name} ended by itself:\n{self.last_words()}")


class Host(ABC):
    """A place to run commands and servers, with an address that the other hosts reach it by."""

    name: str
    address: str
    # The repository, its Python and the harness's files, as they are called there.
    root: PurePath
    python: str
    directory: PurePath

    @abstractmethod
    def run(
        self, command: Command, environment: Environment | None = None, question: str | None = None
    ) -> str:
        """What a command prints, given something to read; an error if it fails."""

    @abstractmethod
    def start(
        self,
        name: str,
        command: Command,
        log: PurePath,
        environment: Environment | None = None,
        user: str | None = None,
    ) -> Service:
        """Starts a server in the background, in a process group of its own."""

    @abstractmethod
    def is_alive(self, service: Service) -> bool:
        """Whether a server still runs."""

    @abstractmethod
    def stop(self, service: Service) -> None:
        """Ends a server by its process id; one that does not heed is killed with its group."""

    @abstractmethod
    def timed(self, command: Command, environment: Environment | None = None) -> Timed:
        """Runs a load generator."""

    @abstractmethod
    def watch(self, trees: Trees) -> Watching:
        """Begins to watch the parts of a system, each given as the roots of its processes."""

    @abstractmethod
    def put(self, here: Path) -> None:
        """Brings a file or a directory of the harness there."""

    @abstractmethod
    def fetch(self, here: Path) -> None:
        """Brings a file or a directory that was made there."""

    @abstractmethod
    def there(self, here: Path) -> PurePath:
        """What a file of the harness, or of the repository, is called there."""

    @abstractmethod
    def write(self, place: PurePath, text: str, owner: str | None = None) -> None:
        """Writes a file there that its owner alone can read, in a directory of that owner's."""

    def module(self, name: str, *arguments: object, question: Any = None) -> Any:
        """What a program of this repository answers there: JSON, as the question is."""
        command = [self.python, "-m", name, *map(str, arguments)]
        environment = {"PYTHONPATH": str(self.root)}
        text = None if question is None else json.dumps(question)
        return json.loads(self.run(command, environment, text))

    def free_port(self) -> int:
        """A port that nobody listens on just now."""
        return int(self.run([self.python, "-c", _FREE_PORT, self.address]))

    def facts(self) -> dict[str, str]:
        """Its machine's."""
        return self.module("bench.machine")
