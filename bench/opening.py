"""Opens a topology by name or from a file of JSON: its hosts are reached until it is left.

`local` and `split` are made on this machine; `split` needs root and Linux.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from bench.attached import NAME as ATTACHED
from bench.hosts import LocalHost, Login, SshHost
from bench.split import split
from bench.split.provision import provision
from bench.topology import ROLES, BadTopology, Topology, local


@contextmanager
def _local(directory: Path) -> Iterator[Topology]:
    yield local(directory)


@contextmanager
def _split(directory: Path) -> Iterator[Topology]:
    with split(directory) as topology:
        provision(topology.roles)
        yield topology


@contextmanager
def _attached(directory: Path) -> Iterator[Topology]:
    host = LocalHost(directory)
    yield Topology(ATTACHED, host, host, host)


NAMED: dict[str, Callable[[Path], Any]] = {"local": _local, "split": _split, ATTACHED: _attached}


def _ssh_host(name: str, known: dict[str, Any], directory: Path) -> SshHost:
    given = {**known}
    if given.pop("kind", None) != "ssh":
        raise BadTopology(f'host {name}: "kind" must be "ssh"')
    try:
        return SshHost(name, Login(**given), directory)
    except TypeError as error:
        raise BadTopology(f"host {name}: {error}") from None


def read(path: Path, directory: Path) -> Topology:
    """The topology of a file; its hosts are yet to be opened."""
    try:
        known = json.loads(path.read_text())
        hosts = {name: _ssh_host(name, host, directory) for name, host in known["hosts"].items()}
        roles = {role: hosts[known.get("roles", {}).get(role, role)] for role in ROLES}
        return Topology(known["name"], **roles, network="samenet")
    except (OSError, ValueError) as error:
        raise BadTopology(f"{path}: {error}") from error
    except (KeyError, AttributeError, TypeError) as error:
        raise BadTopology(f"{path}: it is no topology: {error!r}") from error


@contextmanager
def _read(path: Path, directory: Path) -> Iterator[Topology]:
    topology = read(path, directory)
    with ExitStack() as stack:
        for host in topology.hosts:
            stack.callback(host.close)
            host.open()
        yield topology


@contextmanager
def opened(name: str, directory: Path) -> Iterator[Topology]:
    """The topology of that name, or of the file of that name, until it is left."""
    named = NAMED.get(name)
    if named is None and not Path(name).is_file():
        raise BadTopology(f"no topology {name}: there are {', '.join(NAMED)}, or a file")
    with named(directory) if named else _read(Path(name), directory) as topology:
        yield topology
