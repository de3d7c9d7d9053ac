"""A separate PgBouncer in front of a server, which can be pointed at another one.

PGBOUNCER names the program where it is not the one on the path; prepared statements need 1.21.
"""

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import psycopg

from tests.connections import until
from tools.cluster import Cluster
from tools.cluster.paths import is_free

PROGRAM = os.environ.get("PGBOUNCER") or shutil.which("pgbouncer")
FIRST_WITH_PREPARED = (1, 21)
START_SECONDS = 20


def can_prepare() -> bool:
    report = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, check=True)
    return (
        tuple(map(int, re.search(r"(\d+)\.(\d+)", report.stdout).groups())) >= FIRST_WITH_PREPARED
    )


class Pooler:
    """A running PgBouncer; its files are in the home of the server that it was started for."""

    def __init__(
        self, server: Cluster, dbname: str, users: Sequence[str], mode: str,
        added: Mapping[str, object],
    ) -> None:  # fmt: skip
        assert PROGRAM, "no pgbouncer: apt-get install pgbouncer"
        place = server.place
        self.dbname, self.can_prepare = dbname, can_prepare() and mode != "statement"
        self.port = next(port for port in range(56432, 56532) if is_free(port))
        self._users, self._ini = Path(place.home, "users.txt"), Path(place.home, "pgbouncer.ini")
        self._users.write_text("".join(f'"{user}" ""\n' for user in users))
        self._users.chmod(0o644)
        self._settings = {
            "listen_addr": "127.0.0.1", "listen_port": self.port, "unix_socket_dir": "",
            "auth_type": "trust", "auth_file": self._users, "pool_mode": mode,
            "ignore_startup_parameters": "extra_float_digits",
            **({"max_prepared_statements": 200} if can_prepare() else {}), **added,
        }  # fmt: skip
        self._write(server)
        owner = {"user": place.user, "group": place.user, "extra_groups": []} if place.user else {}
        # The clock of servers, which a test may set, is not PgBouncer's.
        own = {name: text for name, text in os.environ.items() if name != "LD_PRELOAD"}
        with Path(place.home, "pgbouncer.log").open("w") as log:
            self._process = subprocess.Popen(
                [PROGRAM, str(self._ini)], cwd="/", stdout=log, stderr=log, env=own, **owner
            )
        self._opened: list[psycopg.Connection] = []

    def _write(self, server: Cluster) -> None:
        settings = "".join(f"{name} = {value}\n" for name, value in self._settings.items())
        database = f"{self.dbname} = host={server.host} port={server.port}\n"
        self._ini.write_text(f"[databases]\n{database}[pgbouncer]\n{settings}")
        self._ini.chmod(0o644)

    def point_at(self, server: Cluster) -> None:
        """Sends new transactions to another server."""
        self._write(server)
        self._process.send_signal(signal.SIGHUP)

    def connect(self, user: str = "postgres") -> psycopg.Connection:
        """Opens a connection, which `stop` closes."""
        where = {"host": "127.0.0.1", "port": self.port, "dbname": self.dbname, "user": user}
        how = {"autocommit": True, "prepare_threshold": 0 if self.can_prepare else None}
        opened = until(lambda: psycopg.connect(**where, **how), seconds=START_SECONDS)
        self._opened.append(opened)
        return opened

    def stop(self) -> None:
        """Closes the connections and ends the program."""
        for connection in self._opened:
            connection.close()
        self._process.terminate()
        self._process.wait()
