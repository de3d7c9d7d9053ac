"""The servers of the rungs for one data set: started beside each other, asked through the caller.

PostgreSQL is the comparison's own throw-away cluster, asked by its role over its Unix socket, over TCP or
through a PgBouncer before it.
"""

import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePath

from psycopg.conninfo import make_conninfo

from bench import pgbouncer
from bench.attempts import Attempts
from bench.database import Database
from bench.generators import Figures, Load, caller
from bench.generators.caller import PROGRAM, Question
from bench.hosts import CommandFailed, Host, Parts, Service, Usage, run_measured
from bench.request_logs import RequestLogs
from bench.rungs import Rung

# Who share the rows of a comparison, so that each worker of a service is likely to be asked.
CLIENTS = 4
# PgBouncer's files and its socket.
POOLED = "rungs-pgbouncer"


@dataclass
class Servers:
    """What runs for a data set, of which `directory` has the files."""

    host: Host
    database: Database
    directory: Path
    cores: int
    _services: dict[str, Service] = field(default_factory=dict)
    _addresses: dict[str, str] = field(default_factory=dict)
    _loaded: bool = False
    # Of Unix sockets, whose names may not be long.
    _sockets: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="rungs-")))

    @property
    def name(self) -> str:
        """The data set's, which is also the table's and the model's."""
        return self.directory.name

    @property
    def logs(self) -> RequestLogs:
        """The caller's."""
        return RequestLogs(self.host)

    @property
    def rows(self) -> Path:
        """The caller's questions."""
        return self.directory / "rows.json"

    def start(self, rungs: Iterable[Rung], attempts: Attempts, candidates: bool = False) -> None:
        """Starts what the rungs ask; each is waited for when it is asked first."""
        for rung in rungs:
            attempts.make(rung.name, partial(self._start, rung, candidates))

    def _start(self, rung: Rung, candidates: bool) -> None:
        if rung.postgres and not self._loaded:
            self.host.call(
                "bench.ladder.tables:load", conninfo=self.database.socket, role=self.database.role,
                directory=str(self.directory), candidates=candidates,
            )  # fmt: skip
            self._loaded = True
        if rung.postgres == "pgbouncer" and "pgbouncer" not in self._services:
            self._start_pgbouncer()
        if rung.command:
            self.start_one(rung)

    def start_one(self, rung: Rung) -> None:
        """Starts a rung's server."""
        root, port, socket = self.host.root, self.host.free_port(), self._sockets / rung.name
        known = {
            "python": self.host.python, "root": root, "build": root / ".build" / "rungs", "cores": self.cores,
            "model": self.directory / "model.json", "rows": self.rows, "socket": socket, "port": port,
            "host": f"127.0.0.1:{port}", "categories": self.directory / "categories.txt",
        }  # fmt: skip
        command = [word.format(**known) for word in rung.command]
        environment = {name: text.format(**known) for name, text in rung.environment.items()}
        log = self.host.directory / "services" / f"{rung.name}.log"
        place = {"PYTHONPATH": str(root)}
        self._services[rung.name] = self.host.start(command, log, place | environment)
        by_socket = any("{socket}" in word for word in rung.command)
        self._addresses[rung.name] = f"unix:{socket}" if by_socket else f"127.0.0.1:{port}"

    def _start_pgbouncer(self) -> None:
        database = self.database
        settings = {
            "listen_addr": "", "unix_socket_dir": database.home / POOLED, "listen_port": database.at[1],
            "auth_type": "trust", "default_pool_size": 10, "max_client_conn": 200,
        }  # fmt: skip
        sockets = str(database.home / "sockets")
        self._services["pgbouncer"], _ = pgbouncer.started(
            self.host, database, POOLED, sockets, settings
        )

    def start_redis(self, save: str) -> Path:
        """A Redis with a rule when to take snapshots, none if empty; its Unix socket."""
        socket = self._sockets / "redis"
        command = ["redis-server", "--port", "0", "--unixsocket", str(socket), "--save", save]
        log = self.host.directory / "services" / "redis.log"
        # What the one before left as it ended would be read first.
        self.host.run(["rm", "-f", str(log), str(self._sockets / "dump.rdb")])
        command += ["--dir", str(self._sockets)]
        self._services["redis"] = self.host.start(command, log)
        return socket

    def _conninfo(self, how: str) -> str:
        """Where PostgreSQL is, as the role."""
        database = self.database
        if how == "tcp":
            return f"{database.conninfo()} sslmode=disable"
        sockets = database.home / ("sockets" if how == "socket" else POOLED)
        return make_conninfo(
            host=str(sockets), port=database.at[1], dbname=database.name, user=database.role
        )

    def question(self, rung: Rung, verb: str, block: int) -> Question:
        """What the caller is told."""
        address = self._conninfo(rung.postgres) if rung.postgres else ""
        model = self.name if rung.postgres else str(self.directory / "model.json")
        address = self._addresses.get(rung.name, address)
        return Question(rung.transport, address, verb, model, self.rows, block)

    def caller(self, rung: Rung) -> PurePath:
        """The caller, or what stands in its place."""
        root = self.host.root
        return PurePath(rung.program.format(root=root)) if rung.program else root / PROGRAM

    def compare(self, rung: Rung, verb: str, block: int = 0, every: int = 1) -> int:
        """How many answers were XGBoost's to the bit; of a server that fails, also what it said last."""
        question = self.question(rung, verb, block or rung.block)
        clients = 1 if rung.in_process else CLIENTS
        try:
            return caller.compared(
                self.host.run(caller.checking(self.caller(rung), question, clients, every))
            )
        except CommandFailed as error:
            raise CommandFailed(f"{error}\n{self._last_words(rung)}") from error

    def asked(self, rung: Rung, verb: str, load: Load) -> Figures:
        """What the caller measures, and nothing that looks on meanwhile."""
        log = self.logs.fresh()
        question = self.question(rung, verb, rung.rows)
        self.host.run(caller.command(self.caller(rung), question, load, log))
        return self.logs.figures("caller", log, load)

    def watched(
        self, rung: Rung, question: Question, load: Load, also: str = ""
    ) -> tuple[PurePath, Usage]:
        """The caller's log, and what was used meanwhile."""
        log = self.logs.fresh()
        command = caller.command(self.caller(rung), question, load, log, also)
        return log, run_measured(self.host, command, self.parts(rung))[1]

    def parts(self, rung: Rung) -> Parts:
        """The processes that are asked."""
        found = {}
        if rung.postgres:
            found["postgres"] = self.database.roots()
        if rung.postgres == "pgbouncer":
            found["pgbouncer"] = [self._services["pgbouncer"]]
        for name in (rung.name, "redis"):
            if name in self._services:
                found[name] = [self._services[name]]
        return found

    def stop_one(self, name: str) -> None:
        """Stops a rung's server, if it has one, and its Redis."""
        for each in (name, "redis"):
            if service := self._services.pop(each, None):
                service.stop()

    def _last_words(self, rung: Rung) -> str:
        if rung.name not in self._services:
            return ""
        return self.host.run(["tail", "--lines=10", str(self._services[rung.name].log)])

    def stop(self) -> None:
        """Stops all but PostgreSQL."""
        for service in self._services.values():
            service.stop()
        self._services.clear()
        shutil.rmtree(self._sockets, ignore_errors=True)
