"""A place to run commands and servers: this machine, a network namespace of it, or a machine behind ssh.

All are the same but for how their agent (agent.py) is started. Nothing in the harness opens a connection to a
server: whoever has to, to load, to compare answers or to measure, is a function that is called on a host.
A host has a directory for the harness's files and a copy of this repository with its Python. `Path` names a
file of the machine that the harness runs on, and a host turns one that stands in a command into its own name
for it (`there`); a text, or any other PurePath, it takes as it is.
"""

import base64
import io
import json
import shlex
import subprocess
import sys
import tarfile
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path, PurePath, PurePosixPath
from typing import Any

from bench.agent import CommandFailed
from bench.processes import Used

ROOT = Path(__file__).resolve().parents[1]
STATE = ROOT / ".bench"
MODULE = "bench.agent"
# Where the harness's files are in a repository elsewhere.
THERE = ".bench"
NAMESPACES = Path("/run/netns")
PATIENCE_SECONDS = 15
END_SECONDS = 60

Command = Sequence[str | PurePath]
Environment = Mapping[str, str]
# Where something listens.
Address = tuple[str, int]


@dataclass(frozen=True)
class Process:
    """A process, and all that descends from it, somewhere."""

    host: "Host"
    pid: int


Parts = Mapping[str, Iterable[Process]]


@dataclass(frozen=True)
class Service(Process):
    """A server that this harness started."""

    name: str
    log: PurePath

    def stop(self) -> None:
        """Ends it, unless it has ended."""
        self.host.ask("stop", pid=self.pid)

    def ready(self, port: int, path: str | None = None) -> Address:
        """Where it listens, when it answers, to GET of the path where there is one; else an error."""
        answers = False
        try:
            place = {"address": self.host.address, "port": port}
            answers = self.host.ask("wait", pid=self.pid, path=path, **place)
        finally:
            if not answers:
                self.stop()
        if answers:
            return self.host.address, port
        last_words = self.host.run(["tail", "--lines=10", str(self.log)])
        raise CommandFailed(f"{self.name} does not answer:\n{last_words}")


class Host:
    """Where commands run, at an address that the other hosts reach it by."""

    def __init__(self, name: str, address: str, agent: Sequence[str], here: Path) -> None:
        self.name = name
        self.address = address
        self._agent = agent
        # The harness's files here; there they are below the repository, unless it is the same machine.
        self._here = here
        self._process: subprocess.Popen[str] | None = None
        self._facts: dict[str, str] = {}
        self._places: dict[str, str] = {}
        self.same_machine = True
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115

    def open(self) -> None:
        """Starts the agent, unless it runs."""
        if self._process:
            return
        # In a process group of its own, so a Ctrl-C is not for it.
        self._process = subprocess.Popen(
            self._agent, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            stderr=None if self.same_machine else self._errors, process_group=0,
        )  # fmt: skip
        hello = self._process.stdout.readline()
        if not hello:
            self._process.wait()
            self._process = None
            self._errors.seek(0)
            said = self._errors.read()
            raise CommandFailed(f"{self.name}: {shlex.join(self._agent)} failed:\n{said}")
        self._places = json.loads(hello)

    def close(self) -> None:
        """Ends the agent, and with it whatever it started."""
        if self._process:
            process, self._process = self._process, None
            process.stdin.close()
            process.wait(END_SECONDS)

    def ask(self, verb: str, **question: Any) -> Any:
        """The agent's answer. A Ctrl-C meanwhile ends the agent: clearing up is asked of a new one."""
        self.open()
        try:
            self._process.stdin.write(json.dumps(question | {"verb": verb}) + "\n")
            self._process.stdin.flush()
            said = json.loads(self._process.stdout.readline() or "null")
        except BrokenPipeError:
            said = None
        except KeyboardInterrupt:
            self.close()
            raise
        if said is None:
            raise CommandFailed(f"{self.name}: its agent has ended without an answer to {verb}")
        if "error" in said:
            raise CommandFailed(f"{self.name}: {said['error']}")
        return said["answer"]

    @cached_property
    def root(self) -> PurePath:
        """The repository there,"""
        self.open()
        return PurePosixPath(self._places["root"])

    @cached_property
    def python(self) -> str:
        """its Python,"""
        self.open()
        return self._places["python"]

    @property
    def directory(self) -> PurePath:
        """and the harness's files."""
        return PurePosixPath(self._here) if self.same_machine else self.root / THERE

    def there(self, here: Path) -> PurePath:
        """What a file of the harness, or of the repository, is called there."""
        if here.is_relative_to(self._here):
            return self.directory / here.relative_to(self._here)
        return self.root / here.relative_to(ROOT) if here.is_relative_to(ROOT) else here

    def words(self, command: Command) -> list[str]:
        """A command as it is there."""
        return [str(self.there(part)) if isinstance(part, Path) else str(part) for part in command]

    def run(
        self, command: Command, environment: Environment | None = None, question: str | None = None
    ) -> str:
        """What a command prints, given something to read; an error if it fails."""
        known = {"environment": dict(environment or {}), "question": question}
        return self.ask("run", command=self.words(command), **known)

    def call(self, function: str, *, apart: bool = False, **question: Any) -> Any:
        """What a function of this repository, module:name, answers there; `apart`: in its own process."""
        return self.ask("call", function=function, question=question, apart=apart)

    def start(
        self,
        command: Command,
        log: PurePath,
        environment: Environment | None = None,
        user: str | None = None,
    ) -> Service:
        """Starts a server in the background."""
        words = self.words(command)
        known = {"environment": dict(environment or {}), "log": str(log), "user": user}
        return Service(self, self.ask("start", command=words, **known), words[0], log)

    def put(self, here: Path) -> None:
        """Brings a file or a directory of the harness there."""
        if self.same_machine:
            return
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as archive:
            archive.add(here, here.name)
        text = base64.b64encode(packed.getvalue()).decode()
        self.ask("unpack", directory=str(self.there(here).parent), archive=text)

    def write(self, place: PurePath, text: str, owner: str | None = None) -> None:
        """Writes a file there that its owner alone can read, in a directory of that owner's."""
        self.ask("write", place=str(place), text=text, owner=owner)

    def free_port(self) -> int:
        """A port that nobody listens on just now."""
        return self.ask("free_port", address=self.address)

    def facts(self) -> dict[str, str]:
        """Its machine's."""
        self._facts = self._facts or self.call("bench.machine:facts")
        return self._facts


AGENT = (sys.executable, "-m", MODULE)


def local(directory: Path = STATE) -> Host:
    """This machine."""
    return Host("local", "127.0.0.1", AGENT, directory)


def namespace(entered: str, name: str, address: str, directory: Path) -> Host:
    """A network namespace of this machine: files and processes are this machine's, addresses its own."""
    return Host(
        name, address, ["nsenter", f"--net={NAMESPACES / entered}", "--", *AGENT], directory
    )


@dataclass(frozen=True)
class Login:
    """How a machine is reached."""

    # What ssh is told: user@machine, or a name in its configuration.
    reach: str
    # What the other hosts call it.
    address: str
    # A configuration of ssh's own, for the key and the known machines.
    config: str | None = None
    # Where this repository is there.
    repository: str = "/opt/pgboost"


def over_ssh(name: str, login: Login, directory: Path) -> Host:
    """A machine behind ssh, whose key must be known and which must ask nobody anything."""
    # The store needs no package of Python's, so it may have no .venv.
    start = (
        f'cd {shlex.quote(login.repository)} && cd "$(pwd -P)" && p=.venv/bin/python;'
        f' [ -x "$p" ] && p=$PWD/$p || p=python3; exec "$p" -m {MODULE}'
    )
    ssh = [
        "ssh", "-o", "BatchMode=yes", "-o", f"ConnectTimeout={PATIENCE_SECONDS}",
        "-o", f"ServerAliveInterval={PATIENCE_SECONDS}", *(["-F", login.config] if login.config else []),
    ]  # fmt: skip
    host = Host(name, login.address, [*ssh, login.reach, start], directory)
    host.same_machine = False
    return host


@dataclass(frozen=True)
class Usage:
    """What was used during a run."""

    seconds: float
    server: Used
    # The same apart: postgres, pgbouncer, gunicorn, redis.
    server_parts: dict[str, Used]
    generator: Used
    # None where no process carries the packets.
    network: Used | None = None


def _sum(used: Sequence[Mapping[str, Any]]) -> Used:
    return Used(sum(one["cpu_seconds"] for one in used), sum(one["pss_bytes"] for one in used))


def _watched(parts: Parts) -> list[Callable[[], dict[str, Any]]]:
    """Begins to watch on each host; each of these says what was used there since."""
    trees: dict[Host, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for part, roots in parts.items():
        for process in roots:
            trees[process.host][part].append(process.pid)
    return [
        partial(host.ask, "finish", watch=host.ask("watch", trees=its))
        for host, its in trees.items()
    ]


def run_measured(
    client: Host,
    command: Command,
    servers: Parts,
    environment: Environment | None = None,
    network: Iterable[Process] = (),
) -> tuple[str, Usage]:
    """What a load generator prints on its host, and what was used meanwhile on all."""
    serving, carrying = _watched(servers), _watched({"network": network})
    words, known = client.words(command), dict(environment or {})
    try:
        timed = client.ask("timed", command=words, environment=known)
    finally:
        served, carried = ([seen() for seen in one] for one in (serving, carrying))
    names = dict.fromkeys(name for one in served for name in one["parts"])
    return timed["output"], Usage(
        seconds=timed["seconds"],
        server=_sum([one["total"] for one in served]),
        server_parts={
            name: _sum([one["parts"][name] for one in served if name in one["parts"]])
            for name in names
        },
        generator=Used(**timed["used"]),
        network=_sum([one["total"] for one in carried]) if carried else None,
    )
