"""The delay between the hosts: the kernel's netem, or where it has none the delay line.

Both are a second device `wire` in each host. toxiproxy was looked at and left: its latency
is a whole number of milliseconds, and it ends the connections that it delays, so that a
handshake takes no time (docs/decisions.md).
"""

import contextlib
import json
import subprocess
from collections.abc import Sequence
from typing import Any

from bench.hosts import CommandFailed, Process, local
from bench.hosts.host import NAMESPACES, ROOT
from bench.split.namespaces import PREFIX, SWITCH, Namespaces, command
from bench.topology import BadTopology, Links

BUILD = ROOT / "bench" / "delay_line" / "build.sh"
PROGRAM = ROOT / ".build" / "delay_line"

WIRE = "wire"
UNDELAYED = "eth0"
QUEUE_PACKETS = "10000"
NANOSECONDS = 1_000_000
SHARED = "all hosts and what carries their packets share all cores; nothing is pinned"


def kernel_has_netem() -> bool:
    """Finds out by trying, on a device that carries nothing."""
    try:
        command("tc", "-n", SWITCH, "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1us")
    except CommandFailed:
        return False
    command("tc", "-n", SWITCH, "qdisc", "delete", "dev", "lo", "root")
    return True


class Netem(Links):
    """A second bridge, at whose devices the kernel holds each packet for the time."""

    means = "tc netem at each host's device, outgoing"

    def __init__(self, namespaces: Namespaces) -> None:
        self._namespaces = namespaces
        self._device = UNDELAYED
        self._make()

    def _make(self) -> None:
        self._namespaces.connect("wires", WIRE)

    def set_delay(self, milliseconds: float | None) -> None:
        """One way, between any two hosts; None: by the bridge, without what delays."""
        if milliseconds is not None:
            self._delay(milliseconds)
        device = UNDELAYED if milliseconds is None else WIRE
        if device != self._device:
            self._namespaces.route(device)
            self._device = device

    def _delay(self, milliseconds: float) -> None:
        for host in self._namespaces.addresses:
            command("tc", "-n", PREFIX + host, "qdisc", "replace", "dev", WIRE, "root", "netem",
                    "delay", f"{milliseconds * 1000:.0f}us", "limit", QUEUE_PACKETS)  # fmt: skip

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
        addresses, self._here = self._namespaces.addresses, local()
        ends = [f"{NAMESPACES / (PREFIX + host)}={at}" for host, at in addresses.items()]
        self._line = subprocess.Popen(
            [PROGRAM, *ends], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, process_group=0,
        )  # fmt: skip
        try:
            self._told(wanted="ready")
            for host in addresses:
                command("ip", "-n", PREFIX + host, "link", "set", WIRE,
                        "txqueuelen", QUEUE_PACKETS, "up")  # fmt: skip
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
