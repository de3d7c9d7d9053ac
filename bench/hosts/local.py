"""This machine, reached by starting processes.

Programs run without libpq's variables of whoever started the harness: a PGHOST of the user's
must not lead a client to another server.
"""

import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path, PurePath

from bench import processes
from bench.hosts.host import (
    ROOT,
    STATE,
    Command,
    CommandFailed,
    Environment,
    Host,
    Service,
    Timed,
)
from bench.processes import Trees, Watch
from bench.results import Used

STOP_SECONDS = 20
GENERATOR = "generator"
# What a shell, and what enters a namespace, ends with where there is no such program.
NOT_FOUND = 127


def _environment(added: Environment | None) -> dict[str, str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if name == "PG_CONFIG" or not name.startswith("PG")
    }
    return kept | dict(added or {})


class LocalHost(Host):
    """This machine's own addresses, files and processes."""

    def __init__(
        self, directory: Path = STATE, name: str = "local", address: str = "127.0.0.1"
    ) -> None:
        self.name = name
        self.address = address
        self.root = ROOT
        self.python = sys.executable
        self.directory = directory
        # By their number and when they began, as a service is known.
        self._children: dict[tuple[int, int], subprocess.Popen[bytes]] = {}

    def _command(self, command: Command, user: str | None = None) -> list[str]:
        """What is really started."""
        change = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"] if user else []
        return [*change, *map(str, command)]

    def run(
        self, command: Command, environment: Environment | None = None, question: str | None = None
    ) -> str:
        """What a command prints."""
        given = {"stdin": subprocess.DEVNULL} if question is None else {"input": question}
        try:
            done = subprocess.run(
                self._command(command), env=_environment(environment), capture_output=True,
                text=True, check=False, **given,
            )  # fmt: skip
        except FileNotFoundError:
            raise CommandFailed(f"{command[0]} is not installed") from None
        if done.returncode == NOT_FOUND:
            raise CommandFailed(f"{command[0]} is not installed")
        if done.returncode != 0:
            raise CommandFailed(f"{command[0]} failed:\n{done.stdout}{done.stderr}")
        return done.stdout or done.stderr

    def start(
        self,
        name: str,
        command: Command,
        log: PurePath,
        environment: Environment | None = None,
        user: str | None = None,
    ) -> Service:
        """Starts a server as a child of this process."""
        Path(log).parent.mkdir(parents=True, exist_ok=True)
        with Path(log).open("ab") as output:
            child = subprocess.Popen(
                self._command(command, user), env=_environment(environment), cwd="/",
                stdin=subprocess.DEVNULL, stdout=output, stderr=output, process_group=0,
            )  # fmt: skip
        service = Service(self, name, child.pid, processes.began(child.pid), log)
        self._children[service.pid, service.began] = child
        return service

    def is_alive(self, service: Service) -> bool:
        """Whether it is there and has not ended."""
        # A child stays in the table of processes until it is waited for, and its state there may say
        # that it has ended while it still has threads that run: only waiting tells.
        if child := self._children.get((service.pid, service.began)):
            return child.poll() is None
        # One that ended before it was looked at began at no time.
        return 0 < service.began == processes.began(service.pid)

    def _ends(self, service: Service, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while self.is_alive(service):
            if time.monotonic() > deadline:
                return False
            time.sleep(0.02)
        return True

    def stop(self, service: Service) -> None:
        """Asks it to end, and waits until it has."""
        if not self.is_alive(service):
            return
        os.kill(service.pid, signal.SIGTERM)
        if not self._ends(service, STOP_SECONDS):
            os.killpg(service.pid, signal.SIGKILL)
            self._ends(service, STOP_SECONDS)

    def timed(self, command: Command, environment: Environment | None = None) -> Timed:
        """Processor time is the kernel's own sum over ended children, which it tells to the microsecond."""
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        child = subprocess.Popen(
            self._command(command), env=_environment(environment),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        watch = self.watch({GENERATOR: [child.pid]})
        try:
            output = child.communicate()[0]
            after, ended = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        finally:
            # Whoever interrupts this does not leave the generator to go on.
            child.kill()
            child.wait()
            seen = watch.finish()
        if child.returncode != 0:
            raise CommandFailed(f"{command[0]} failed:\n{output}")
        spent = sum(getattr(after, n) - getattr(before, n) for n in ("ru_utime", "ru_stime"))
        return Timed(output, ended - began, Used(spent, seen.total.pss_bytes))

    def watch(self, trees: Trees) -> Watch:
        """Samples from a thread of this process."""
        return Watch(trees)

    def put(self, here: Path) -> None:
        """Nothing: the files are here."""

    def fetch(self, here: Path) -> None:
        """Nothing: the files are here."""

    def there(self, here: Path) -> PurePath:
        """The same name."""
        return here

    def write(self, place: PurePath, text: str, owner: str | None = None) -> None:
        """Writes the file, closed to others before it holds anything."""
        path = Path(place)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)
        path.write_text(text)
        for each in (path.parent, path) if owner else ():
            shutil.chown(each, owner, owner)
