"""Three hosts on one machine: network namespaces with addresses of their own, and a delay between them.

    server 10.83.0.1     store 10.83.0.2     client 10.83.0.3

Files, processor cores and memory are the machine's, shared by all three and by what carries their
packets; nothing is pinned to a core, for either side of the comparison. A fourth namespace holds the bridge,
so that nothing of this is seen outside. One run at a time holds a lock; whoever gets it
first clears away what a run that was killed has left.
"""

import fcntl
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from bench.hosts import Host, namespace
from bench.hosts.host import ROOT
from bench.split.links import DelayLine, Netem, kernel_has_netem
from bench.split.namespaces import NETWORK, PREFIX, Namespaces
from bench.topology import ROLES, BadTopology, Topology

LOCK = Path("/run/lock/pgboost-bench-split")
SCRIPTS = ROOT / "bench" / "provision"


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
        namespaces = Namespaces({role: f"10.83.0.{i}" for i, role in enumerate(ROLES, 1)})
        namespaces.clear()
        stack.callback(namespaces.clear)
        namespaces.make()
        links = Netem(namespaces) if kernel_has_netem() else DelayLine(namespaces)
        stack.callback(links.close)
        hosts = {
            role: namespace(PREFIX + role, role, address, directory)
            for role, address in namespaces.addresses.items()
        }
        topology = Topology("split", **hosts, links=links, network=NETWORK)
        stack.callback(topology.close)
        if provisioned:
            provision(topology.roles)
        yield topology
