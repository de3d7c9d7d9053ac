"""Hosts run commands and servers: this machine, a network namespace of it, or a machine behind ssh.

They differ only in how their agent (agent.py) is started. The harness never connects to a server: loading,
comparing and measuring are functions called on a host. A host has a directory for the harness's files and a
copy of this repository with its Python. A `Path` names a file of the harness's machine, and in a command it
is translated to the host's name for it (`there`); strings and other PurePaths are passed on as they are.
"""

import base64
import json
import shlex
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property, partial
from pathlib import Path, PurePath, PurePosixPath
from typing import Any, TextIO

from bench.agent import CommandFailed
from bench.processes import Used
from bench.results import Usage

ROOT = Path(__file__).resolve().parents[1]
STATE = ROOT / ".bench"
MODULE = "bench.agent"
# The harness's files in another machine's repository.
THERE = ".bench"
PATIENCE_SECONDS = 15
END_SECONDS = 60

Command = Sequence[str | PurePath]
Environment = Mapping[str, str]
Address = tuple[str, int]


@dataclass(frozen=True)
class Process:
    """A process on a host, with its descendants."""

    host: "Host"
    pid: int


Parts = Mapping[str, Iterable[Process]]


@dataclass(frozen=True)
class Service(Process):
    """A server that the harness started."""

    log: PurePath

    def stop(self) -> None:
        """Stops the server, unless it has ended."""
        self.host.ask("stop", pid=self.pid)

    def ready(self, port: int, path: str | None = None) -> Address:
        """Waits until it accepts connections, or answers GET of `path`; returns its address."""
        at = self.host.address, port
        self.host.ask("ready", pid=self.pid, log=str(self.log), address=at[0], port=port, path=path)
        return at


@dataclass(eq=False)
class Host:
    """A host, reached by the other hosts at an address."""

    name: str
    address: str
    # The command that starts its agent.
    agent: Sequence[str]
    # The harness's files on this machine; another one has them below its repository.
    here: Path
    same_machine: bool = True
    _process: subprocess.Popen[str] | None = field(default=None, init=False)
    _errors: TextIO = field(default_factory=partial(tempfile.TemporaryFile, "w+"), init=False)

    def close(self) -> None:
        """Ends the agent, which stops the processes it started."""
        if self._process:
            process, self._process = self._process, None
            process.stdin.close()
            process.wait(END_SECONDS)

    def ask(self, verb: str, **question: Any) -> Any:
        """Returns the agent's answer; a Ctrl-C ends the agent, and the next call starts a new one."""
        # In a separate process group, where a Ctrl-C does not reach it.
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
        """The repository on this host."""
        return PurePosixPath(self._places["root"])

    @property
    def python(self) -> str:
        return self._places["python"]

    @property
    def directory(self) -> PurePath:
        """The directory of the harness's files on this host."""
        return PurePosixPath(self.here) if self.same_machine else self.root / THERE

    def there(self, here: Path) -> PurePath:
        """Translates a path of the harness or of the repository to this host's."""
        if here.is_relative_to(self.here):
            return self.directory / here.relative_to(self.here)
        return self.root / here.relative_to(ROOT) if here.is_relative_to(ROOT) else here

    def words(self, command: Command, environment: Environment | None) -> dict[str, Any]:
        """Returns a command in this host's paths, and the variables it adds to the environment."""
        parts = (self.there(part) if isinstance(part, Path) else part for part in command)
        return {"command": [*map(str, parts)], "environment": dict(environment or {})}

    def run(self, command: Command, environment: Environment | None = None) -> str:
        """Runs a command and returns its output; raises if it fails."""
        return self.ask("run", **self.words(command, environment))

    def call(self, function: str, *, apart: bool = False, **question: Any) -> Any:
        """Calls a function of this repository, given as module:name, on the host.

        `apart` runs it in a separate process, for long calls and for those whose memory is measured.
        """
        if not apart:
            return self.ask("call", function=function, question=question)
        return json.loads(self.run([self.python, "-m", MODULE, function, json.dumps(question)]))

    def start(
        self,
        command: Command,
        log: PurePath,
        environment: Environment | None = None,
        user: str = "",
    ) -> Service:
        """Starts a server in the background, as that user if one is named."""
        words = self.words(command, environment)
        return Service(self, self.ask("start", **words, log=str(log), user=user), log)

    def put(self, here: Path) -> None:
        """Copies a file or a directory of the harness to the host."""
        for path in () if self.same_machine else (here, *here.rglob("*")):
            if path.is_file():
                self.write(self.there(path), path.read_bytes())

    def write(self, place: PurePath, content: bytes, owner: str | None = None) -> None:
        """Writes a file that only its owner can read, in a directory that belongs to the owner."""
        text = base64.b64encode(content).decode()
        self.ask("write", place=str(place), content=text, owner=owner)

    def free_port(self) -> int:
        return self.ask("free_port", address=self.address)

    @cached_property
    def facts(self) -> dict[str, str]:
        """Facts of its machine, as `record.facts` has them."""
        return self.call("bench.record:facts")

    @property
    def cores(self) -> int:
        return int(self.facts["cores"])


AGENT = (sys.executable, "-m", MODULE)


def local(directory: Path = STATE) -> Host:
    """Returns this machine as a host."""
    return Host("local", "127.0.0.1", AGENT, directory)


@dataclass(frozen=True)
class Login:
    """The way to reach a machine over ssh."""

    # The destination given to ssh: user@machine, or a name in its configuration.
    reach: str
    # The machine's address for the other hosts.
    address: str
    # An ssh configuration file, for the key and the known hosts.
    config: str | None = None
    # The path of this repository on that machine.
    repository: str = "/opt/pgboost"


def over_ssh(name: str, login: Login, directory: Path) -> Host:
    """Returns a machine behind ssh, whose host key must be known and whose login must not prompt."""
    # The store needs no package from PyPI, so it may have no .venv.
    start = (
        f'cd {shlex.quote(login.repository)} && cd "$(pwd -P)" && p=.venv/bin/python;'
        f' [ -x "$p" ] && p=$PWD/$p || p=python3; exec "$p" -m {MODULE}'
    )
    ssh = [
        "ssh", "-o", "BatchMode=yes", "-o", f"ConnectTimeout={PATIENCE_SECONDS}",
        "-o", f"ServerAliveInterval={PATIENCE_SECONDS}", *(["-F", login.config] if login.config else []),
    ]  # fmt: skip
    return Host(name, login.address, [*ssh, login.reach, start], directory, same_machine=False)


def _watched(parts: Parts) -> Callable[[], tuple[Used, dict[str, Used]]]:
    """Starts watching on each host; the function returned ends that with the usage in total and by part."""
    trees: dict[Host, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for part, roots in parts.items():
        for process in roots:
            trees[process.host][part].append(process.pid)
    begun = [(host, host.ask("watch", trees=its)) for host, its in trees.items()]

    def finish() -> tuple[Used, dict[str, Used]]:
        seen = [host.ask("finish", watch=watch) for host, watch in begun]
        each = {part: Used(**used) for one in seen for part, used in one["parts"].items()}
        names = [one.name for one in fields(Used)]
        return Used(*(sum(one["total"][name] for one in seen) for name in names)), each

    return finish


def run_measured(
    client: Host,
    command: Command,
    servers: Parts,
    environment: Environment | None = None,
    network: Iterable[Process] = (),
) -> tuple[str, Usage]:
    """Runs a load generator on its host; returns its output, and the usage on all hosts meanwhile."""
    serving, carrying = _watched(servers), _watched({"network": network})
    try:
        timed = client.ask("timed", **client.words(command, environment))
    finally:
        (server, parts), (_, carried) = serving(), carrying()
    used, network_used = Used(**timed["used"]), carried.get("network")
    return timed["output"], Usage(timed["seconds"], server, parts, used, network_used)
