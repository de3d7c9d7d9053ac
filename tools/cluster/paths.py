"""Chooses the directory, the port and the user of a throw-away cluster.

PostgreSQL refuses to run as root, so under root an unprivileged user runs the cluster. If that user cannot
enter the repository (a clone under /root), or the socket's path would exceed 107 bytes, the files are in a
separate directory under the system's temporary directory. cluster.json in the state directory, which is
always in the repository, records the choice, so that the next run finds the same cluster.
"""

import contextlib
import json
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from dataclasses import asdict, dataclass, replace
from pathlib import Path

UNPRIVILEGED_USER = "postgres"
LONGEST_SOCKET_PATH = 107
RECORD = "cluster.json"


class ClusterError(Exception):
    """A failure to start or stop a cluster; the message is for the user."""


@dataclass(frozen=True)
class Place:
    """A cluster's directory, its port, and the user who runs it (None for this one)."""

    home: str
    port: int
    user: str | None

    @property
    def data(self) -> Path:
        """The data directory."""
        return Path(self.home, "data")

    @property
    def sockets(self) -> Path:
        """The directory of the socket, accessible to its owner and root only."""
        return Path(self.home, "sockets")

    @property
    def log(self) -> Path:
        """The server's log."""
        return Path(self.home, "server.log")

    def run(self, *command: str | Path, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Runs a command as the cluster's user; its output is part of the error."""
        owner = {"user": self.user, "group": self.user, "extra_groups": []} if self.user else {}
        done = subprocess.run(
            [str(part) for part in command],
            cwd="/", stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, **owner,
        )  # fmt: skip
        if check and done.returncode != 0:
            raise ClusterError(f"{command[0]} failed:\n{done.stdout}{done.stderr}")
        return done


def _user() -> str | None:
    if os.geteuid() != 0:
        return None
    try:
        return pwd.getpwnam(UNPRIVILEGED_USER).pw_name
    except KeyError:
        raise ClusterError(
            f"PostgreSQL does not run as root, and there is no user {UNPRIVILEGED_USER}: "
            "create one, or run this as an ordinary user"
        ) from None


def _own(directory: Path, user: str | None) -> None:
    directory.mkdir(mode=0o700, exist_ok=True)
    if user:
        shutil.chown(directory, user, user)


def _usable(directory: Path, port: int, user: str | None) -> bool:
    """Whether the user can work in the directory and its socket path is short enough."""
    socket_path = os.fsencode(directory / "sockets" / f".s.PGSQL.{port}")
    if len(socket_path) > LONGEST_SOCKET_PATH:
        return False
    probe = Place(str(directory), port, user)
    return probe.run("test", "-w", directory, "-a", "-x", directory, check=False).returncode == 0


def _bound(port: int) -> int | None:
    """Binds a port on the loopback interface, 0 for any, and returns it; None if it is taken."""
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return None
        return probe.getsockname()[1]


def is_free(port: int) -> bool:
    """Whether the port is unused."""
    return _bound(port) is not None


def _free_port(preferred: int) -> int:
    """Returns the preferred port, or another unused one."""
    port = _bound(preferred) or _bound(0)
    if port is None:
        raise ClusterError("no free port on the loopback interface")
    return port


def recorded(state: Path) -> Place | None:
    """Returns the place that an earlier run chose, if its files still exist.

    The record in a copy of the repository is the original's, and is ignored.
    """
    record = state / RECORD
    if not record.exists():
        return None
    known = json.loads(record.read_text())
    place = Place(**known["place"])
    return place if known["state"] == str(state) and Path(place.home).is_dir() else None


def _record(state: Path, place: Place) -> None:
    record = {"state": str(state), "place": asdict(place)}
    (state / RECORD).write_text(json.dumps(record) + "\n")


def choose(state: Path, preferred_port: int) -> Place:
    """Returns the recorded place, or chooses and records a new one."""
    known = recorded(state)
    if known:
        return known
    user, port = _user(), _free_port(preferred_port)
    state.mkdir(parents=True, exist_ok=True)
    home = state / "cluster"
    _own(home, user)
    if not _usable(home, port, user):
        with contextlib.suppress(OSError):
            home.rmdir()
        home = Path(tempfile.mkdtemp(prefix="pgboost-"))
        _own(home, user)
        if not _usable(home, port, user):
            raise ClusterError(f"user {user} can use neither {state} nor {home}")
    place = Place(str(home), port, user)
    _record(state, place)
    return place


def with_free_port(state: Path, place: Place) -> Place:
    """Returns the place of a stopped cluster, on another port if its own was taken."""
    moved = replace(place, port=_free_port(place.port))
    _record(state, moved)
    return moved


def forget(state: Path, place: Place) -> None:
    """Deletes the cluster's files and the record of it."""
    shutil.rmtree(place.home)
    (state / RECORD).unlink()
