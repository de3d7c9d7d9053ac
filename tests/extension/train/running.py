"""A training that runs during the test, as another connection and the system see it."""

import threading
import time
from pathlib import Path
from typing import Any

import psycopg
from psycopg import Connection

from tests.connections import until

PATIENCE = 60
# Seconds that a busy machine may take for something immediate.
ALLOWANCE = 5

TRAIN = "SELECT * FROM train_model('long', %s, 'y', %s, rounds => 100000)"
# A set-returning function among the columns gives its rows one by one.
ENDLESS = "SELECT i AS a, i AS y FROM (SELECT generate_series(1, 10000000000) AS i) AS s"
# Ten thousand trees per round: each round takes minutes.
LONG_ROUND = """SELECT i AS a, sin(i) AS b, cos(i) AS c, (i % 1000) AS y
    FROM generate_series(1, 200000) AS i"""
FOREST = '{"num_parallel_tree": 10000, "max_depth": 8, "subsample": 0.5}'


class Running:
    """A training in a separate thread."""

    def __init__(
        self, connection: Connection, source: str, params: str = '{"max_depth": 10}',
        statement: str = TRAIN,
    ) -> None:  # fmt: skip
        self.connection = connection
        self.pid = connection.info.backend_pid
        self.error: psycopg.Error | None = None
        self.thread = threading.Thread(
            target=self._run, args=(statement, source, params), daemon=True
        )
        self.thread.start()

    def _run(self, statement: str, source: str, params: str) -> None:
        try:
            # A statement without places takes neither.
            arguments = (source, params) if "%s" in statement else None
            self.connection.execute(statement, arguments)
        except psycopg.Error as error:
            self.error = error

    def ended(self) -> str | None:
        """The SQLSTATE that it ended with."""
        self.thread.join(PATIENCE)
        assert not self.thread.is_alive(), "the training goes on"
        assert self.error is not None
        return self.error.sqlstate


def seen(watcher: Connection, pid: int, phase: str, rounds: int = 0, rows: int = 0) -> Any:
    """Waits until the training is seen in the phase, with at least these rounds and rows."""
    deadline = time.monotonic() + PATIENCE
    while True:
        row = watcher.execute(
            "SELECT phase, rows_read, round, rounds, metric, model, datname, usename "
            "FROM pg_stat_progress_train_model WHERE pid = %s", (pid,)
        ).fetchone()  # fmt: skip
        if row and row[0] == phase and row[1] >= rows and row[2] >= rounds:
            return row
        assert time.monotonic() < deadline, f"never seen in that phase: {row}"
        time.sleep(0.02)


def trainer_of(watcher: Connection, pid: int, phase: str = "training", rows: int = 0) -> int:
    """Waits for a phase of the training; returns its trainer."""
    seen(watcher, pid, phase, rows=rows)
    (trainer,) = trainers(pid)
    return trainer


def trainers(parent: int | None = None) -> list[int]:
    """The trainers of a backend, or all of this machine's."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            pid, rest = stat.read_text().split(" (pgboost_trainer) ")
        except (OSError, ValueError):
            continue
        state, ppid = rest.split()[:2]
        if state != "Z" and parent in (None, int(ppid)):
            found.append(int(pid))
    return found


def gone(pid: int) -> bool:
    """Waits for the end of a process; whether it came."""
    return until(lambda: not Path(f"/proc/{pid}").exists(), seconds=PATIENCE)
