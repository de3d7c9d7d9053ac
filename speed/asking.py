"""Connections that predict in a loop, each in a process of its own, and every answer with its time.

The clock is the machine's monotonic one, which all processes share, so that an answer can be
compared with the commits of another connection.
"""

import multiprocessing
import time
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Event

import numpy as np
import psycopg
from numpy.typing import NDArray

# Spawned, so that no child has the parent's connections.
_PROCESSES = multiprocessing.get_context("spawn")


@dataclass(frozen=True)
class Asked:
    """All statements of one connection: when each began, what it took, what it gave."""

    began: NDArray[np.float64]
    took: NDArray[np.float64]
    answer: NDArray[np.float64]

    def within(self, begin: float, end: float) -> NDArray[np.bool_]:
        """Those that began in that time."""
        return (self.began >= begin) & (self.began < end)


def _ask(conninfo: str, statement: str, over: Event, results: Connection) -> None:
    columns = (array("d"), array("d"), array("d"))
    with psycopg.connect(conninfo, autocommit=True) as connection:
        while not over.is_set():
            began = time.monotonic()
            (answer,) = connection.execute(statement, prepare=True).fetchone()
            for column, value in zip(
                columns, (began, time.monotonic() - began, answer), strict=True
            ):
                column.append(value)
    results.send(columns)


@contextmanager
def asking(conninfo: str, statement: str, connections: int) -> Iterator[list[Asked]]:
    """While it lasts, connections ask; the list is filled afterwards."""
    found: list[Asked] = []
    over = _PROCESSES.Event()
    pipes, processes = [], []
    for _ in range(connections):
        receiver, sender = _PROCESSES.Pipe(duplex=False)
        process = _PROCESSES.Process(target=_ask, args=(conninfo, statement, over, sender))
        process.start()
        pipes.append(receiver)
        processes.append(process)
        sender.close()
    try:
        yield found
    finally:
        over.set()
    for receiver, process in zip(pipes, processes, strict=True):
        found.append(Asked(*(np.array(column) for column in receiver.recv())))
        process.join()
