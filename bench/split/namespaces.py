"""The namespaces of the hosts, their bridge, and the two ways from host to host.

Each host's address is on its loopback device, and a route to each other host says which way packets
take: `eth0`, by the bridge and without any delay, or `wire`, which somebody else makes and
delays. So the way can be changed under connections that are open.
"""

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

from bench.hosts import CommandFailed

PREFIX = "pgboost-bench-"
SWITCH = PREFIX + "switch"
NETWORK = "10.83.0.0/24"
PATIENCE_SECONDS = 10

_SETTINGS = (
    # No packet but the servers' and the load generators' own is on a link;
    "net.ipv6.conf.all.disable_ipv6=1",
    "net.ipv4.conf.all.rp_filter=0",
    "net.ipv4.conf.default.rp_filter=0",
    # and a connection learns nothing from one that met another delay.
    "net.ipv4.tcp_no_metrics_save=1",
)


def command(*words: str) -> str:
    """What a program of the system prints; an error if it fails."""
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise CommandFailed(f"{' '.join(words)} failed: {done.stderr.strip()}")
    return done.stdout


def existing() -> list[str]:
    """The namespaces that a run has made."""
    known = json.loads(command("ip", "-json", "netns", "list") or "[]")
    return [entry["name"] for entry in known if entry["name"].startswith(PREFIX)]


def processes_in(namespaces: Sequence[str]) -> list[int]:
    """What runs in them."""
    return [int(pid) for name in namespaces for pid in command("ip", "netns", "pids", name).split()]


def _end_processes(namespaces: Sequence[str]) -> None:
    """Asks everything that runs in them to end, and then no longer asks."""
    for signum in (signal.SIGTERM, signal.SIGKILL):
        for pid in processes_in(namespaces):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signum)
        deadline = time.monotonic() + PATIENCE_SECONDS
        while processes_in(namespaces) and time.monotonic() < deadline:
            time.sleep(0.05)


@dataclass(frozen=True)
class Namespaces:
    """The namespaces of hosts, by name, with their addresses."""

    addresses: Mapping[str, str]

    def clear(self) -> None:
        """Ends what runs in them and deletes them, and with them every link."""
        names = existing()
        _end_processes(names)
        for name in names:
            command("ip", "netns", "delete", name)

    def make(self) -> None:
        """Makes them, and connects them without a delay."""
        command("ip", "netns", "add", SWITCH)
        for host, address in self.addresses.items():
            name = PREFIX + host
            command("ip", "netns", "add", name)
            command("ip", "netns", "exec", name, "sysctl", "--quiet", "--write", *_SETTINGS)
            command("ip", "-n", name, "link", "set", "lo", "up")
            command("ip", "-n", name, "address", "add", f"{address}/32", "dev", "lo")
        self.connect("bridge", "eth0")
        self.route("eth0")

    def connect(self, bridge: str, device: str) -> None:
        """Gives each host a device, at a new bridge that joins them."""
        command("ip", "-n", SWITCH, "link", "add", bridge, "type", "bridge")
        command("ip", "-n", SWITCH, "link", "set", bridge, "up")
        for host in self.addresses:
            name, port = PREFIX + host, f"{device}-{host}"
            command("ip", "-n", SWITCH, "link", "add", port, "type", "veth",
                    "peer", "name", device, "netns", name)  # fmt: skip
            command("ip", "-n", SWITCH, "link", "set", port, "master", bridge, "up")
            command("ip", "-n", name, "link", "set", device, "up")

    def route(self, device: str) -> None:
        """Has all packets between the hosts take the way of that device."""
        for (host, source), (_, target) in permutations(self.addresses.items(), 2):
            command("ip", "-n", PREFIX + host, "route", "replace", f"{target}/32",
                    "dev", device, "src", source)  # fmt: skip
