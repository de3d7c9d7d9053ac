"""Three hosts on one machine: network namespaces with addresses of their own, and a delay between them.

    server 10.83.0.1     store 10.83.0.2     client 10.83.0.3

Files, processor cores and memory are the machine's, shared by all three and by what carries their
packets; nothing is pinned to a core, for either side of the comparison. split.sh makes the namespaces.
Packets take one of two ways: `eth0`, the bridge without any delay, or `wire`, where the kernel's netem holds
each for the time, or where the kernel has none the delay line. One run at a time holds a lock; whoever gets
it first clears away what a run that was killed has left.
"""

import contextlib
import fcntl
import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from bench.hosts import NAMESPACES, ROOT, CommandFailed, Host, Process, local, namespace
from bench.topology import ROLES, BadTopology, Links, Topology

ADDRESSES = {role: f"10.83.0.{number}" for number, role in enumerate(ROLES, 1)}
NETWORK = "10.83.0.0/24"
PREFIX = "pgboost-bench-"
LOCK = Path("/run/lock/pgboost-bench-split")
SCRIPTS = ROOT / "bench" / "provision"
BUILD, PROGRAM = ROOT / "bench" / "delay_line" / "build.sh", ROOT / ".build" / "delay_line"
WIRE, UNDELAYED = "wire", "eth0"
NANOSECONDS = 1_000_000
SHARED = "all hosts and what carries their packets share all cores; nothing is pinned"


def hosts(verb: str, *words: str) -> str:
    """What split.sh prints; an error if it fails."""
    command = [ROOT / "bench" / "split.sh", verb, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise CommandFailed(f"split.sh {verb} failed: {done.stderr.strip()}")
    return done.stdout


class Netem(Links):
    """A second bridge, at whose devices the kernel holds each packet for the time."""

    means = "tc netem at each host's device, outgoing"

    def __init__(self) -> None:
        self._device = UNDELAYED
        self._make()

    def _make(self) -> None:
        hosts("connect", "wires", WIRE)

    def set_delay(self, milliseconds: float | None) -> None:
        """One way, between any two hosts; None: by the bridge, without what delays."""
        if milliseconds is not None:
            self._delay(milliseconds)
        device = UNDELAYED if milliseconds is None else WIRE
        # The way can change under connections that are open.
        if device != self._device:
            hosts("route", device)
            self._device = device

    def _delay(self, milliseconds: float) -> None:
        hosts("delay", WIRE, f"{milliseconds * 1000:.0f}us")

    def settings(self) -> dict[str, Any]:
        """What carries the packets."""
        return {"delay": self.means, "processors": SHARED}

    def close(self) -> None:
        """Nothing: devices go with their namespaces."""


class DelayLine(Netem):
    """A process that carries the packets of all hosts; see bench/delay_line."""

    means = "a delay line in user space (bench/delay_line), at real-time priority"

    def _make(self) -> None:
        """Starts it. It ends with its input, so at the latest with this process."""
        done = subprocess.run([BUILD], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise BadTopology(f"the delay line cannot be built:\n{done.stdout}{done.stderr}")
        self._here = local()
        ends = [f"{NAMESPACES / (PREFIX + host)}={at}" for host, at in ADDRESSES.items()]
        self._line = subprocess.Popen(
            [PROGRAM, *ends], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, process_group=0,
        )  # fmt: skip
        try:
            self._told(wanted="ready")
            hosts("up", WIRE)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Ends it."""
        with contextlib.suppress(BrokenPipeError):
            self._line.stdin.close()
        self._line.wait()

    def _told(self, words: str = "", wanted: str | None = None) -> str:
        """Its answer, to these words if any; an error if that is not the one that is wanted."""
        with contextlib.suppress(BrokenPipeError):
            if words:
                self._line.stdin.write(f"{words}\n")
                self._line.stdin.flush()
        answer = self._line.stdout.readline().strip()
        if not answer:
            raise CommandFailed(f"the delay line has ended: {self._line.stderr.read().strip()}")
        if wanted and answer != wanted:
            raise CommandFailed(f"the delay line says {answer}, not {wanted}")
        return answer

    def _delay(self, milliseconds: float) -> None:
        self._told(f"delay {milliseconds * NANOSECONDS:.0f}", "ok")

    def processes(self) -> Sequence[Process]:
        """The line, whose processor time holds what the receivers' kernel does with a packet."""
        return (Process(self._here, self._line.pid),)

    def report(self) -> dict[str, Any]:
        """How many packets it has carried since the last report, and how late they left."""
        return json.loads(self._told("report"))

    def settings(self) -> dict[str, Any]:
        """The same, and how well it held the delays so far."""
        return super().settings() | {"carried": self.report()}


def _require() -> None:
    if os.geteuid() != 0:
        raise BadTopology("the topology split makes network namespaces, which needs root")
    for program in ("ip", "tc", "nsenter", "setpriv", "sysctl"):
        if not shutil.which(program):
            packages = "iproute2, util-linux, procps"
            raise BadTopology(f"the topology split needs {program}: install {packages}")


@contextmanager
def _only_one() -> Iterator[None]:
    LOCK.parent.mkdir(parents=True, exist_ok=True)
    with LOCK.open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BadTopology("another run on this machine uses the topology split") from None
        yield


def provision(roles: Mapping[str, Host]) -> None:
    """Makes each host ready by the script of its role, as a host of AWS is, and says what that says.

    From a namespace no package registry can be reached, so `make bench-split` has run the scripts on the
    machine before. Without --tune, since what that sets would stay with the machine.
    """
    for role, host in roles.items():
        for line in host.run([SCRIPTS / f"{role}.sh"]).splitlines():
            print(f"[{role}] {line}", flush=True)


@contextmanager
def split(directory: Path, provisioned: bool = True) -> Iterator[Topology]:
    """The three hosts, until it is left."""
    _require()
    with _only_one(), ExitStack() as stack:
        hosts("clear")
        stack.callback(hosts, "clear")
        hosts("make", *(f"{host}={address}" for host, address in ADDRESSES.items()))
        links = Netem() if hosts("has-netem").strip() == "yes" else DelayLine()
        stack.callback(links.close)
        made = {
            role: namespace(PREFIX + role, role, address, directory)
            for role, address in ADDRESSES.items()
        }
        topology = Topology("split", **made, links=links, network=NETWORK)
        stack.callback(topology.close)
        if provisioned:
            provision(topology.roles)
        yield topology
