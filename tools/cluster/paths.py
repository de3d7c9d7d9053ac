"""Where a throw-away cluster lives, and who runs it.

PostgreSQL refuses to run as root, so root hands the cluster to an unprivileged
user. That user may be unable to enter the repository (a clone under /root), and a
socket's path may be at most 107 bytes long. In either case the files go to a
separate directory under the system's temporary directory.
What was chosen is written down as cluster.json in the state directory, which
always lies in the repository, so that the next run finds the same cluster.
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
    """What keeps a cluster from starting or stopping, to be shown to the user."""


@dataclass(frozen=True)
class Place:
    """A cluster's directory, its port, and the user who runs it (None: this one)."""

    home: str
    port: int
    user: str | None

    @property
    def data(self) -> Path:
        """The data directory."""
        return Path(self.home, "data")

    @property
    def sockets(self) -> Path:
        """The directory of the socket: only its owner, and root, can enter it."""
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
    """The port on the loopback interface that could be bound, 0 meaning any; None if taken."""
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return None
        return probe.getsockname()[1]


def is_free(port: int) -> bool:
    """Whether nobody listens on the port."""
    return _bound(port) is not None


def _free_port(preferred: int) -> int:
    """The preferred port, or one that nobody listens on."""
    port = _bound(preferred) or _bound(0)
    if port is None:
        raise ClusterError("no free port on the loopback interface")
    return port


def recorded(state: Path) -> Place | None:
    """The place that an earlier run chose, if its files are still there.

    The record of a copied repository speaks of the original's cluster, and does not count.
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
    """The recorded place, or a new one, written down."""
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
    """The place of a stopped cluster, on another port if somebody took its own."""
    moved = replace(place, port=_free_port(place.port))
    _record(state, moved)
    return moved


def forget(state: Path, place: Place) -> None:
    """Deletes the cluster's files and the record of it."""
    shutil.rmtree(place.home)
    (state / RECORD).unlink()
