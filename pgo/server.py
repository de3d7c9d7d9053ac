"""A PostgreSQL of its own for each build of the library, so that the user's installation is left alone.

PostgreSQL finds its directories relative to its program, so a copied installation uses what was
copied. A copy lies in the directory of its cluster, which the cluster's unprivileged user can enter
wherever the repository is. All clusters hold the same data: the first one's directory, copied file by file.
"""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from cluster import Cluster, ClusterError, start, stop
from cluster.place import Place, choose
from cluster.server import installed

ROOT = Path(__file__).resolve().parent.parent
STATE = ROOT / ".build" / "pgo"
PREFERRED_PORT = 54360
DATABASE = "pgo"


@contextlib.contextmanager
def _environment(**variables: str) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update(variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def copy_installation(destination: Path) -> Path:
    """Copies programs, libraries and shared files of PG_CONFIG's PostgreSQL; the copy's pg_config."""
    parts = [installed(option) for option in ("--bindir", "--pkglibdir", "--sharedir")]
    above = Path(os.path.commonpath(parts))
    for part in parts:
        shutil.copytree(
            part, destination / part.relative_to(above),
            ignore_dangling_symlinks=True, dirs_exist_ok=True,
        )  # fmt: skip
    pg_config = destination / parts[0].relative_to(above) / "pg_config"
    with _environment(PG_CONFIG=str(pg_config)):
        libraries = installed("--pkglibdir")
    if not libraries.is_relative_to(destination):
        raise ClusterError(
            f"a copy of the PostgreSQL in {above} looks for its files in {libraries}"
        )
    return pg_config


@dataclass
class Server:
    """One build's installation and cluster, in a directory named for it."""

    name: str
    # What its backends find in their environment.
    variables: dict[str, str] = field(default_factory=dict)

    @property
    def state(self) -> Path:
        """Where it is written down."""
        return STATE / self.name

    @property
    def place(self) -> Place:
        """Where its files are."""
        return choose(self.state, PREFERRED_PORT)

    @property
    def _installation(self) -> Path:
        return Path(self.place.home, "postgresql")

    def _installed(self) -> contextlib.AbstractContextManager[None]:
        (pg_config,) = self._installation.glob("**/bin/pg_config")
        return _environment(PG_CONFIG=str(pg_config), **self.variables)

    def install(self) -> None:
        """An installation like the user's and no cluster; what an earlier run left is deleted."""
        self.delete()
        copy_installation(self._installation)

    def put_library(self, library: Path) -> None:
        """Has it run with another build of pgboost."""
        with self._installed():
            shutil.copy(library, installed("--pkglibdir") / "pgboost.so")

    def copy_data(self, source: "Server") -> None:
        """Gives it the data of a stopped server."""
        for name in ("data", "sockets"):
            self.place.run("cp", "-a", Path(source.place.home, name), Path(self.place.home, name))

    def start(self) -> Cluster:
        """Its running cluster."""
        with self._installed():
            return start(self.state, PREFERRED_PORT)[0]

    def delete(self) -> None:
        """Stops it and deletes its files, its installation included."""
        stop(self.state, delete=True)

    def stop(self) -> None:
        """Stops it, so that every backend has ended; its files stay."""
        with self._installed():
            stop(self.state)


@contextlib.contextmanager
def running(*servers: Server) -> Iterator[list[Cluster]]:
    """The clusters of several servers, stopped whatever happens."""
    with contextlib.ExitStack() as stack:
        clusters = []
        for server in servers:
            stack.callback(server.stop)
            clusters.append(server.start())
        yield clusters


def script(*arguments: str | Path) -> str:
    """What a script of toolchain/ prints on its standard output."""
    name, *rest = arguments
    command = [ROOT / "toolchain" / name, *rest]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise ClusterError(f"toolchain/{name} failed")
    return done.stdout.strip()
