"""Opens a topology by name, or from a file of JSON: its hosts are there until it is left.

`local` is this machine, `split` three network namespaces of it, which needs root.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.hosts import STATE, Host, Login, local, over_ssh
from bench.split import split
from bench.topology import ROLES, BadTopology, Topology

NAMED = ("local", "split")


def on_this_machine(name: str = "local", directory: Path = STATE) -> Topology:
    """All roles on this machine."""
    host = local(directory)
    return Topology(name, host, host, host)


def _host(name: str, known: dict[str, Any], directory: Path) -> Host:
    given = {**known}
    if given.pop("kind", None) != "ssh":
        raise BadTopology(f'host {name}: "kind" must be "ssh"')
    try:
        return over_ssh(name, Login(**given), directory)
    except TypeError as error:
        raise BadTopology(f"host {name}: {error}") from None


def read(path: Path, directory: Path) -> Topology:
    """The topology of a file."""
    try:
        known = json.loads(path.read_text())
        hosts = {name: _host(name, host, directory) for name, host in known["hosts"].items()}
        roles = {role: hosts[known.get("roles", {}).get(role, role)] for role in ROLES}
        return Topology(known["name"], **roles, network="samenet")
    except (OSError, ValueError) as error:
        raise BadTopology(f"{path}: {error}") from error
    except (KeyError, AttributeError, TypeError) as error:
        raise BadTopology(f"{path}: it is no topology: {error!r}") from error


@contextmanager
def opened(name: str, directory: Path = STATE) -> Iterator[Topology]:
    """The topology of that name, or of the file of that name, until it is left."""
    if name == "split":
        with split(directory) as topology:
            yield topology
        return
    if name not in NAMED and not Path(name).is_file():
        raise BadTopology(f"no topology {name}: there are {', '.join(NAMED)}, or a file")
    topology = on_this_machine(name, directory) if name in NAMED else read(Path(name), directory)
    try:
        for host in topology.hosts:
            host.open()
        yield topology
    finally:
        topology.close()
