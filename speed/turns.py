"""Measures things in turn, so that a machine that slows down does so for all of them.

Every other repetition goes backwards: none is always the first, or always follows the same.
"""

import time
from collections.abc import Callable, Mapping

import psycopg
from tqdm import tqdm

Measure = Callable[[], float]


def in_turn(measures: Mapping[str, Measure], repetitions: int) -> dict[str, list[float]]:
    """What each gave in each repetition."""
    values: dict[str, list[float]] = {name: [] for name in measures}
    with tqdm(total=repetitions * len(measures), leave=False, disable=None) as bar:
        for repetition in range(repetitions):
            for name in [*measures][:: 1 if repetition % 2 == 0 else -1]:
                values[name].append(measures[name]())
                bar.update(1)
    return values


def seconds(connection: psycopg.Connection, statement: str) -> float:
    """How long a statement takes until its last row is there; never a prepared one."""
    began = time.perf_counter()
    cursor = connection.execute(statement, prepare=False)
    if cursor.description:
        cursor.fetchall()
    return time.perf_counter() - began


def set_(connection: psycopg.Connection, settings: Mapping[str, object]) -> None:
    """Changes settings of the session."""
    for name, value in settings.items():
        connection.execute("SELECT set_config(%s, %s, false)", (name, str(value)))
