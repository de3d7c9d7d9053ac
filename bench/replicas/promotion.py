"""The primary is killed under load and a standby takes its place: what clients see, and what is lost.

The standby that is promoted is synchronous, so a commit that was acknowledged is on it. Clients know
all servers and go to another when theirs breaks: readers to any, the writer to the one that takes writes.
"""

import contextlib
import threading
import time
from collections.abc import Callable

import psycopg
from psycopg import errors

from bench.replicas.servers import Servers, prediction
from cluster.standby import promote, stop

READERS = 4
RETRY_SECONDS = 0.01
LAST_WORDS_SECONDS = 30


class Client(threading.Thread):
    """Asks again and again, and connects anew when its server breaks."""

    def __init__(self, conninfo: str, ask: Callable[[psycopg.Connection, int], None]) -> None:
        super().__init__(daemon=True)
        self._conninfo, self._ask = conninfo, ask
        self._ended = threading.Event()
        self.answered = self.broken = 0
        self.longest_gap = 0.0
        self.error: Exception | None = None
        self.start()

    def run(self) -> None:
        """Until it is told to finish; an answer that is wrong ends it with an error."""
        last = time.monotonic()
        while not self._ended.is_set():
            try:
                with psycopg.connect(self._conninfo, autocommit=True) as connection:
                    while not self._ended.is_set():
                        self._ask(connection, self.answered + 1)
                        now = time.monotonic()
                        self.answered += 1
                        self.longest_gap, last = max(self.longest_gap, now - last), now
            except psycopg.OperationalError:
                self.broken += 1
                time.sleep(RETRY_SECONDS)
            except Exception as error:
                self.error = error
                return

    def finish(self) -> None:
        """Waits until it has ended, and raises what ended it before."""
        self._ended.set()
        self.join(LAST_WORDS_SECONDS)
        if self.error:
            raise self.error


def _write(connection: psycopg.Connection, number: int) -> None:
    # One that is there was committed before its acknowledgement was lost.
    with contextlib.suppress(errors.UniqueViolation):
        connection.execute("INSERT INTO written VALUES (%s)", (number,))


def promoted(servers: Servers, seconds: float) -> dict[str, float]:
    """So long before the primary is killed, and as long after the standby has been promoted."""
    primary, standby, _ = servers.clusters
    set_synchronous = "ALTER SYSTEM SET synchronous_standby_names = 'FIRST 1 (standby1)'"
    servers.database.execute((set_synchronous, ()), ("SELECT pg_reload_conf()", ()))
    query = f"SELECT {prediction()} FROM flights WHERE ctid = '(0,1)'"
    with psycopg.connect(servers.conninfo(primary)) as connection:
        expected = connection.execute(query).fetchone()

    def ask(connection: psycopg.Connection, _: int) -> None:
        answer = connection.execute(query).fetchone()
        if answer != expected:
            raise AssertionError(f"a server answers {answer} instead of {expected}")

    everywhere = servers.conninfo(*servers.clusters, load_balance_hosts="random")
    writable = servers.conninfo(*servers.clusters, target_session_attrs="read-write")
    writer = Client(writable, _write)
    readers = [Client(everywhere, ask) for _ in range(READERS)]
    time.sleep(seconds)
    began = time.monotonic()
    stop(servers.clusters[primary], "immediate")
    # Its files stay for the next run, which has no such standby at first.
    (servers.clusters[primary].place.data / "postgresql.auto.conf").write_text("")
    promote(servers.clusters[standby])
    took = time.monotonic() - began
    time.sleep(seconds)
    for client in (writer, *readers):
        client.finish()
    with psycopg.connect(servers.conninfo(standby)) as connection:
        (kept,) = connection.execute("SELECT count(*) FROM written WHERE id > 0").fetchone()
    return {
        "written": writer.answered,
        "lost": max(0, writer.answered - kept),
        "writer's gap s": writer.longest_gap,
        "kill and promote s": took,
        "predictions": sum(reader.answered for reader in readers),
        "broken": sum(client.broken for client in (writer, *readers)),
        "readers' gap s": max(reader.longest_gap for reader in readers),
    }
