"""A machine behind ssh, with this repository and its Python on it.

Every verb is a command of bench.hosts.there, through one connection that is kept open. The
machine's key must be known and the login must need no password: nobody is asked anything.
"""

import json
import shlex
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path, PurePath, PurePosixPath
from typing import Any

from bench.hosts.host import (
    ROOT,
    Command,
    CommandFailed,
    Environment,
    Host,
    Service,
    Timed,
)
from bench.processes import Seen, Trees
from bench.results import Used

PATIENCE_SECONDS = 15
# After so long a connection ends that a killed run has left; the next command opens another.
IDLE_SECONDS = 600

# The store needs no package of Python's, so it may have no .venv.
_FIND = 'cd {} && pwd -P && {{ command -v "$PWD/.venv/bin/python" || command -v python3; }}'


class _Watching:
    """A watch that goes on until its input ends."""

    def __init__(self, host: "SshHost", trees: Trees) -> None:
        self._host = host
        self._process = subprocess.Popen(
            host.remote("watch"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        question = {"trees": {part: [*roots] for part, roots in trees.items()}}
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        # What is used from here on counts, so the generator must not begin before.
        if not self._process.stdout.readline():
            raise CommandFailed(f"{host.name}: nothing can be watched there")

    def finish(self) -> Seen:
        """What was used since it began."""
        output = self._process.communicate()[0]
        seen = self._host.answer("watch", output)
        parts = {part: Used(**used) for part, used in seen["parts"].items()}
        return Seen(Used(**seen["total"]), parts)


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


class SshHost(Host):
    """Each verb is one command there; files of the harness have the same names below `.bench`."""

    def __init__(self, name: str, login: Login, directory: Path) -> None:
        self.name = name
        self.address = login.address
        self._login = login
        self._here = directory
        self._sockets: tempfile.TemporaryDirectory[str] | None = None

    def open(self) -> None:
        """Opens the connection that the commands share, and asks where the repository is."""
        self._sockets = tempfile.TemporaryDirectory(prefix="ssh-")
        found = self._ssh_run(_FIND.format(shlex.quote(self._login.repository))).split("\n")
        self.root, self.python = PurePosixPath(found[0]), found[1]
        self.directory = self.root / ".bench"
        self.ask("sweep", {})

    def close(self) -> None:
        """Closes it."""
        if self._sockets:
            subprocess.run(
                [*self._ssh(), "-O", "exit", self._login.reach], capture_output=True, check=False
            )
            self._sockets.cleanup()
            self._sockets = None

    def _ssh(self) -> list[str]:
        socket = Path(self._sockets.name, "control")
        return [
            "ssh", "-o", "BatchMode=yes", "-o", f"ConnectTimeout={PATIENCE_SECONDS}",
            "-o", "ControlMaster=auto", "-o", f"ControlPersist={IDLE_SECONDS}", "-o", f"ControlPath={socket}",
            "-o", f"ServerAliveInterval={PATIENCE_SECONDS}",
            *(["-F", self._login.config] if self._login.config else []),
        ]  # fmt: skip

    def _ssh_run(self, command: str, question: bytes | None = None) -> str:
        given = {"stdin": subprocess.DEVNULL} if question is None else {"input": question}
        done = subprocess.run(
            [*self._ssh(), self._login.reach, command], capture_output=True, check=False, **given
        )
        output = done.stdout.decode(errors="replace")
        if done.returncode != 0:
            said = output + done.stderr.decode(errors="replace")
            raise CommandFailed(f"{self.name}: ssh {self._login.reach} failed:\n{said}")
        return output

    def remote(self, verb: str) -> list[str]:
        """The command that asks for a verb there."""
        words = [self.python, "-m", "bench.hosts.there", verb, str(self.directory)]
        there = f"cd {shlex.quote(str(self.root))} && exec {shlex.join(words)}"
        return [*self._ssh(), self._login.reach, there]

    def answer(self, verb: str, output: str) -> Any:
        """What the last line of the output holds."""
        lines = output.strip().splitlines()
        if not lines:
            raise CommandFailed(f"{self.name}: no answer to {verb}")
        said = json.loads(lines[-1])
        if "error" in said:
            raise CommandFailed(f"{self.name}: {said['error']}")
        return said["answer"]

    def ask(self, verb: str, question: dict[str, Any]) -> Any:
        """The answer of a verb."""
        done = subprocess.run(
            self.remote(verb), input=json.dumps(question) + "\n", capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        if done.returncode != 0:
            raise CommandFailed(f"{self.name}: {verb} failed:\n{done.stdout}{done.stderr}")
        return self.answer(verb, done.stdout)

    def _command(self, command: Command) -> list[str]:
        return [str(self.there(part)) if isinstance(part, Path) else str(part) for part in command]

    def run(
        self, command: Command, environment: Environment | None = None, question: str | None = None
    ) -> str:
        """What a command prints there."""
        asked = {"command": self._command(command), "environment": dict(environment or {})}
        return self.ask("run", asked | {"question": question})

    def start(
        self,
        name: str,
        command: Command,
        log: PurePath,
        environment: Environment | None = None,
        user: str | None = None,
    ) -> Service:
        """Starts a server that goes on when the connection is idle or gone."""
        asked = {"name": name, "command": self._command(command), "log": str(log), "user": user}
        known = self.ask("start", asked | {"environment": dict(environment or {})})
        return Service(self, name, known["pid"], known["began"], log)

    def _known(self, service: Service) -> dict[str, Any]:
        known = {"name": service.name, "pid": service.pid, "began": service.began}
        return known | {"log": str(service.log)}

    def is_alive(self, service: Service) -> bool:
        """Whether it still runs there."""
        return self.ask("alive", self._known(service))

    def stop(self, service: Service) -> None:
        """Ends it."""
        self.ask("stop", self._known(service))

    def timed(self, command: Command, environment: Environment | None = None) -> Timed:
        """Measured there, so ssh's own work is not counted."""
        asked = {"command": self._command(command), "environment": dict(environment or {})}
        timed = self.ask("timed", asked)
        return Timed(timed["output"], timed["seconds"], Used(**timed["used"]))

    def watch(self, trees: Trees) -> _Watching:
        """Begins to watch, there."""
        return _Watching(self, trees)

    def there(self, here: Path) -> PurePath:
        """Files of the harness and of the repository lie in the same places below theirs."""
        if here.is_relative_to(self._here):
            return self.directory / here.relative_to(self._here)
        return self.root / here.relative_to(ROOT) if here.is_relative_to(ROOT) else here

    def put(self, here: Path) -> None:
        """Copies it by tar."""
        place = self.there(here).parent
        packed = subprocess.run(
            ["tar", "-C", str(here.parent), "-cf", "-", here.name], capture_output=True, check=True
        ).stdout
        quoted = shlex.quote(str(place))
        self._ssh_run(f"mkdir -p {quoted} && tar -C {quoted} -xf -", packed)

    def fetch(self, here: Path) -> None:
        """Copies it back by tar."""
        there = self.there(here)
        words = shlex.join(["tar", "-C", str(there.parent), "-cf", "-", there.name])
        done = subprocess.run(
            [*self._ssh(), self._login.reach, words], capture_output=True, check=False
        )
        if done.returncode != 0:
            raise CommandFailed(f"{self.name}: {there} cannot be fetched: {done.stderr.decode()}")
        here.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["tar", "-C", str(here.parent), "-xf", "-"], input=done.stdout, check=True)

    def write(self, place: PurePath, text: str, owner: str | None = None) -> None:
        """Writes it there."""
        self.ask("write", {"place": str(place), "text": text, "owner": owner})
