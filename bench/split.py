"""Three hosts on one machine: network namespaces with separate addresses, and a delay between them.

    server 10.83.0.1     store 10.83.0.2     client 10.83.0.3

The hosts and whatever carries their packets share the machine's files, cores and memory; nothing is pinned to
a core, for either side of the comparison. split.sh creates the namespaces. Packets take one of two routes:
`eth0`, the bridge without delay, or `wire`, where the delay line (bench/delay_line) holds each for the set
time. A run holds a lock, and first removes the remains of a killed run.

`opened` opens any topology, by its name or its file.
"""

import fcntl
import json
import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from bench.hosts import AGENT, ROOT, STATE, CommandFailed, Host, Process, local
from bench.topology import ROLES, BadTopology, Links, Topology, on_this_machine, read

NAMED = ("local", "split")
ADDRESSES = {role: f"10.83.0.{number}" for number, role in enumerate(ROLES, 1)}
NETWORK = "10.83.0.0/24"
NAMESPACES, PREFIX = Path("/run/netns"), "pgboost-bench-"
LOCK = Path("/run/lock/pgboost-bench-split")
BUILD, PROGRAM = ROOT / "bench" / "delay_line" / "build.sh", ROOT / ".build" / "delay_line"
WIRE, UNDELAYED = "wire", "eth0"
MEANS = "a delay line in user space (bench/delay_line), at real-time priority"
SHARED = "all hosts and what carries their packets share all cores; nothing is pinned"


def _said(*command: str | Path) -> str:
    """Runs a program and returns its output; raises if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        words = " ".join(map(str, (Path(command[0]).name, *command[1:2])))
        raise CommandFailed(f"{words} failed: {done.stdout}{done.stderr}".strip())
    return done.stdout


def hosts(verb: str, *words: str) -> str:
    """Runs split.sh and returns its output."""
    return _said(ROOT / "bench" / "split.sh", verb, *words)


class DelayLine(Links):
    """A process that carries the packets of all hosts; see bench/delay_line."""

    _device = UNDELAYED

    def __init__(self) -> None:
        """Starts the process, which ends with its input and so at the latest with this one."""
        _said(BUILD)
        self._here = local()
        ends = [f"{NAMESPACES / (PREFIX + host)}={at}" for host, at in ADDRESSES.items()]
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        self._line = subprocess.Popen([PROGRAM, *ends], **pipes, text=True, process_group=0)
        try:
            self._answer()
            hosts("up", WIRE)
        except BaseException:
            self.close()
            raise

    def set_delay(self, milliseconds: float | None) -> None:
        """Sets the one-way delay between any two hosts; None routes packets over the plain bridge."""
        if milliseconds is not None:
            self._told(f"delay {milliseconds * 1e6:.0f}")
        device = UNDELAYED if milliseconds is None else WIRE
        # Open connections survive a change of the route.
        if device != self._device:
            hosts("route", device)
            self._device = device

    def close(self) -> None:
        with suppress(BrokenPipeError):
            self._line.stdin.close()
        self._line.wait()

    def _answer(self) -> str:
        if answer := self._line.stdout.readline():
            return answer
        raise CommandFailed(f"the delay line has ended: {self._line.stderr.read().strip()}")

    def _told(self, words: str) -> str:
        with suppress(BrokenPipeError):
            print(words, file=self._line.stdin, flush=True)
        return self._answer()

    def processes(self) -> Sequence[Process]:
        """Returns the delay line, whose CPU time includes the receiving kernel's work on a packet."""
        return (Process(self._here, self._line.pid),)

    def report(self) -> dict[str, Any]:
        """Returns the number of packets carried since the last report, and their lateness."""
        return json.loads(self._told("report"))

    def settings(self) -> dict[str, Any]:
        """Returns the means of the delay, and its accuracy so far."""
        return {"delay": MEANS, "processors": SHARED, "carried": self.report()}


@contextmanager
def split(directory: Path = STATE) -> Iterator[Topology]:
    """Creates the three hosts, and removes them at exit."""
    if os.geteuid() != 0:
        raise BadTopology("the topology split makes network namespaces, which needs root")
    LOCK.parent.mkdir(parents=True, exist_ok=True)
    with LOCK.open("a") as lock, ExitStack() as stack:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BadTopology("another run on this machine uses the topology split") from None
        hosts("clear")
        stack.callback(hosts, "clear")
        hosts("make", *(f"{host}={address}" for host, address in ADDRESSES.items()))
        links = DelayLine()
        stack.callback(links.close)
        made = {}
        for role, address in ADDRESSES.items():
            # They share this machine's files and processes.
            enter = ("nsenter", f"--net={NAMESPACES / (PREFIX + role)}", "--")
            made[role] = Host(role, address, (*enter, *AGENT), directory)
        topology = Topology("split", **made, links=links, network=NETWORK)
        stack.callback(topology.close)
        yield topology


def opened(name: str, directory: Path = STATE) -> AbstractContextManager[Topology]:
    """Opens the topology of that name or file, and closes it at exit."""
    if name == "split":
        return split(directory)
    if name == "local":
        return closing(on_this_machine(directory))
    if Path(name).is_file():
        return closing(read(Path(name), directory))
    raise BadTopology(f"no topology {name}: there are {', '.join(NAMED)}, or a file")
