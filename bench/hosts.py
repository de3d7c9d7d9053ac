"""A place to run commands and servers: this machine, a network namespace of it, or a machine behind ssh.

All are the same except how their agent (agent.py) is started. Nothing in the harness opens a connection to a
server: whoever has to, to load, to compare answers or to measure, is a function that is called on a host.
A host has a directory for the harness's files and a copy of this repository with its Python. `Path` names a
file of the machine that the harness runs on, and a host turns one that stands in a command into its own name
for it (`there`); a text, or any other PurePath, it takes as it is.
"""

import base64
import json
import shlex
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path, PurePath, PurePosixPath
from typing import Any, TextIO

from bench.agent import CommandFailed
from bench.processes import Used
from bench.results import Usage

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

    log: PurePath

    def stop(self) -> None:
        """Ends it, unless it has ended."""
        self.host.ask("stop", pid=self.pid)

    def ready(self, port: int, path: str | None = None) -> Address:
        """Where it listens, when it answers, to GET of the path where there is one; else an error."""
        at = self.host.address, port
        self.host.ask("ready", pid=self.pid, log=str(self.log), address=at[0], port=port, path=path)
        return at


@dataclass(eq=False)
class Host:
    """Where commands run, at an address that the other hosts reach it by."""

    name: str
    address: str
    # What starts its agent.
    agent: Sequence[str]
    # The harness's files here; there they are below the repository, unless it is the same machine.
    here: Path
    same_machine: bool = True
    _process: subprocess.Popen[str] | None = field(default=None, init=False)
    _errors: TextIO = field(default_factory=partial(tempfile.TemporaryFile, "w+"), init=False)

    def close(self) -> None:
        """Ends the agent, and with it whatever it started."""
        if self._process:
            process, self._process = self._process, None
            process.stdin.close()
            process.wait(END_SECONDS)

    def ask(self, verb: str, **question: Any) -> Any:
        """The agent's answer. A Ctrl-C meanwhile ends the agent: a new one is asked to clean up."""
        # In a separate process group, so that a Ctrl-C does not reach it.
        process = self._process = self._process or subprocess.Popen(
            self.agent, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            stderr=self._errors, process_group=0,
        )  # fmt: skip
        said = None
        try:
            print(json.dumps(question | {"verb": verb}), file=process.stdin, flush=True)
            said = json.loads(process.stdout.readline() or "null")
        except BrokenPipeError:
            pass
        except KeyboardInterrupt:
            self.close()
            raise
        if said is None:
            process.wait(END_SECONDS)
            self._process = None
            self._errors.seek(0)
            told = f"{shlex.join(self.agent)} failed:\n{self._errors.read()}"
            raise CommandFailed(f"{self.name}: {told}")
        if "error" in said:
            raise CommandFailed(f"{self.name}: {said['error']}")
        return said["answer"]

    @cached_property
    def _places(self) -> dict[str, str]:
        return self.ask("places")

    @property
    def root(self) -> PurePath:
        """The repository there,"""
        return PurePosixPath(self._places["root"])

    @property
    def python(self) -> str:
        """its Python,"""
        return self._places["python"]

    @property
    def directory(self) -> PurePath:
        """and the harness's files."""
        return PurePosixPath(self.here) if self.same_machine else self.root / THERE

    def there(self, here: Path) -> PurePath:
        """What a file of the harness, or of the repository, is called there."""
        if here.is_relative_to(self.here):
            return self.directory / here.relative_to(self.here)
        return self.root / here.relative_to(ROOT) if here.is_relative_to(ROOT) else here

    def words(self, command: Command, environment: Environment | None) -> dict[str, Any]:
        """A command as it is there, and what it adds to the environment."""
        parts = (self.there(part) if isinstance(part, Path) else part for part in command)
        return {"command": [*map(str, parts)], "environment": dict(environment or {})}

    def run(self, command: Command, environment: Environment | None = None) -> str:
        """What a command prints; an error if it fails."""
        return self.ask("run", **self.words(command, environment))

    def call(self, function: str, *, apart: bool = False, **question: Any) -> Any:
        """What a function of this repository, module:name, answers there.

        `apart`: in its own process, if it takes long or its memory is measured.
        """
        if not apart:
            return self.ask("call", function=function, question=question)
        return json.loads(self.run([self.python, "-m", MODULE, function, json.dumps(question)]))

    def start(
        self,
        command: Command,
        log: PurePath,
        environment: Environment | None = None,
        user: str | None = None,
    ) -> Service:
        """Starts a server in the background."""
        words = self.words(command, environment)
        return Service(self, self.ask("start", **words, log=str(log), user=user), log)

    def put(self, here: Path) -> None:
        """Brings a file or a directory of the harness there."""
        for path in () if self.same_machine else (here, *here.rglob("*")):
            if path.is_file():
                self.write(self.there(path), path.read_bytes())

    def write(self, place: PurePath, content: bytes, owner: str | None = None) -> None:
        """Writes a file there that its owner alone can read, in a directory of that owner's."""
        text = base64.b64encode(content).decode()
        self.ask("write", place=str(place), content=text, owner=owner)

    def free_port(self) -> int:
        """A port that nobody listens on just now."""
        return self.ask("free_port", address=self.address)

    @cached_property
    def facts(self) -> dict[str, str]:
        """Its machine's."""
        return self.call("bench.record:facts")

    @property
    def cores(self) -> int:
        """How many whoever runs there may use."""
        return int(self.facts["cores"])


AGENT = (sys.executable, "-m", MODULE)


def local(directory: Path = STATE) -> Host:
    """This machine."""
    return Host("local", "127.0.0.1", AGENT, directory)


def namespace(entered: str, name: str, address: str, directory: Path) -> Host:
    """A network namespace of this machine: files and processes are this machine's, addresses its own."""
    enter = ("nsenter", f"--net={NAMESPACES / entered}", "--")
    return Host(name, address, (*enter, *AGENT), directory)


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
    # The store needs no package of PyPI's, so it may have no .venv.
    start = (
        f'cd {shlex.quote(login.repository)} && cd "$(pwd -P)" && p=.venv/bin/python;'
        f' [ -x "$p" ] && p=$PWD/$p || p=python3; exec "$p" -m {MODULE}'
    )
    ssh = [
        "ssh", "-o", "BatchMode=yes", "-o", f"ConnectTimeout={PATIENCE_SECONDS}",
        "-o", f"ServerAliveInterval={PATIENCE_SECONDS}", *(["-F", login.config] if login.config else []),
    ]  # fmt: skip
    return Host(name, login.address, [*ssh, login.reach, start], directory, same_machine=False)


def _sum(used: Sequence[Mapping[str, Any]]) -> Used:
    return Used(sum(one["cpu_seconds"] for one in used), sum(one["pss_bytes"] for one in used))


def _watched(parts: Parts) -> Callable[[], tuple[Used, dict[str, Used]]]:
    """Begins to watch on each host; this says what was used since, of all and of each part, on one host."""
    trees: dict[Host, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for part, roots in parts.items():
        for process in roots:
            trees[process.host][part].append(process.pid)
    begun = [(host, host.ask("watch", trees=its)) for host, its in trees.items()]

    def finish() -> tuple[Used, dict[str, Used]]:
        seen = [host.ask("finish", watch=watch) for host, watch in begun]
        each = {part: Used(**used) for one in seen for part, used in one["parts"].items()}
        return _sum([one["total"] for one in seen]), each

    return finish


def run_measured(
    client: Host,
    command: Command,
    servers: Parts,
    environment: Environment | None = None,
    network: Iterable[Process] = (),
) -> tuple[str, Usage]:
    """What a load generator prints on its host, and what was used meanwhile on all."""
    serving, carrying = _watched(servers), _watched({"network": network})
    try:
        timed = client.ask("timed", **client.words(command, environment))
    finally:
        (server, parts), (_, carried) = serving(), carrying()
    used, network_used = Used(**timed["used"]), carried.get("network")
    return timed["output"], Usage(timed["seconds"], server, parts, used, network_used)
