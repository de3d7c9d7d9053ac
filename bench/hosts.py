"""Where commands run. Systems and load generators ask a host and do not know which it is.

There is one kind now, this machine. Another (a network namespace, a machine behind
ssh) needs the same verbs, and its own address for the others to reach it.
"""

import os
import signal
import socket
import subprocess
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import processes

STOP_SECONDS = 20
SAMPLE_SECONDS = 0.5


class CommandFailed(Exception):
    """A command that could not be run, or did not do what it should."""


@dataclass(frozen=True)
class Usage:
    """What the servers and the load generator used while the generator ran."""

    seconds: float
    server_cpu_seconds: float
    server_pss_bytes: int
    generator_cpu_seconds: float
    generator_pss_bytes: int


@dataclass(frozen=True)
class Service:
    """A server that this harness started."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path

    @property
    def pid(self) -> int:
        """The root of its tree of processes."""
        return self.process.pid

    def last_words(self) -> str:
        """The end of its log, for an error message."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-10:])

    def check_alive(self) -> None:
        """Raises an error with the log's end where the server has ended."""
        if self.process.poll() is not None:
            raise CommandFailed(f"{self.name} ended by itself:\n{self.last_words()}")


def _environment(added: Mapping[str, str] | None) -> dict[str, str]:
    # A PGHOST of the user's must not lead a client to another server.
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    return kept | dict(added or {})


class _MemorySampler(threading.Thread):
    """Notes the largest memory of some trees until it is told to stop."""

    def __init__(self, servers: Sequence[int], generator: int) -> None:
        super().__init__(daemon=True)
        self._roots = {"server": servers, "generator": [generator]}
        self._done = threading.Event()
        self.largest = {"server": 0, "generator": 0}

    def run(self) -> None:
        """Samples at once, and then again and again."""
        while True:
            for name, roots in self._roots.items():
                self.largest[name] = max(self.largest[name], processes.pss_bytes(roots))
            if self._done.wait(SAMPLE_SECONDS):
                return

    def finish(self) -> dict[str, int]:
        """The largest seen."""
        self._done.set()
        self.join()
        return self.largest


class LocalHost:
    """This machine."""

    name = "local"
    address = "127.0.0.1"

    def free_port(self) -> int:
        """A port that nobody listens on just now."""
        with socket.socket() as probe:
            probe.bind((self.address, 0))
            return probe.getsockname()[1]

    def run(
        self, command: Sequence[str | Path], environment: Mapping[str, str] | None = None
    ) -> str:
        """What a command prints; an error if it fails."""
        try:
            done = subprocess.run(
                [str(part) for part in command], env=_environment(environment),
                stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
            )  # fmt: skip
        except FileNotFoundError:
            raise CommandFailed(f"{command[0]} is not installed") from None
        if done.returncode != 0:
            raise CommandFailed(f"{command[0]} failed:\n{done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def start(
        self,
        name: str,
        command: Sequence[str | Path],
        log: Path,
        environment: Mapping[str, str] | None = None,
        user: str | None = None,
    ) -> Service:
        """Starts a server in a process group of its own."""
        owner = {"user": user, "group": user, "extra_groups": []} if user else {}
        with log.open("ab") as output:
            process = subprocess.Popen(
                [str(part) for part in command], env=_environment(environment), cwd="/",
                stdin=subprocess.DEVNULL, stdout=output, stderr=output, process_group=0, **owner,
            )  # fmt: skip
        return Service(name, process, log)

    def stop(self, service: Service) -> None:
        """Ends a server by its process id; one that does not heed is killed with its group."""
        if service.process.poll() is not None:
            return
        service.process.send_signal(signal.SIGTERM)
        try:
            service.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(service.pid, signal.SIGKILL)
            service.process.wait()

    def run_measured(
        self,
        command: Sequence[str | Path],
        servers: Iterable[int],
        environment: Mapping[str, str] | None = None,
    ) -> tuple[str, Usage]:
        """What a load generator prints, and what it and the servers used meanwhile."""
        roots = [*servers]
        before = processes.cpu_seconds(roots)
        began = os.times()
        process = subprocess.Popen(
            [str(part) for part in command], env=_environment(environment),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        sampler = _MemorySampler(roots, process.pid)
        sampler.start()
        output = process.communicate()[0]
        ended = os.times()
        largest = sampler.finish()
        if process.returncode != 0:
            raise CommandFailed(f"{command[0]} failed:\n{output}")
        generator = sum(
            getattr(ended, name) - getattr(began, name)
            for name in ("children_user", "children_system")
        )
        return output, Usage(
            seconds=ended.elapsed - began.elapsed,
            server_cpu_seconds=processes.cpu_seconds(roots) - before,
            server_pss_bytes=largest["server"],
            generator_cpu_seconds=generator,
            generator_pss_bytes=largest["generator"],
        )
