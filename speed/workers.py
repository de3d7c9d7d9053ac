"""How much faster two parallel workers are than one: the same scan, in turn.

The leader only collects (parallel_leader_participation is off), so that what is compared is one
worker's work with that of two. A plan with one such worker never wins by its cost, so it is forced.
The control tells how much of two cores PostgreSQL makes use of; two connections that each scan
alone, at the same time, tell how much of two cores the machine has to give.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

import psycopg

from speed.record import LARGE, SMALL, Subject
from speed.sessions import Measure, seconds, set_
from speed.site import Site, columns
from workbench.queries import CONTROL
from workbench.turns import in_turn

PARALLEL = {
    "parallel_leader_participation": "off",
    "parallel_setup_cost": 0,
    "parallel_tuple_cost": 0,
    "min_parallel_table_scan_size": 0,
}
COUNTS = (1, 2)
EXPRESSIONS = {"control": CONTROL, SMALL: columns(SMALL), LARGE: columns(LARGE)}


def forced(connection: psycopg.Connection) -> str:
    """The setting that makes any plan parallel; its name differs by release."""
    names = ["debug_parallel_query", "force_parallel_mode"]
    query = "SELECT name FROM pg_settings WHERE name = ANY(%s)"
    return connection.execute(query, (names,)).fetchone()[0]


class NotParallel(Exception):
    """A plan with other workers than were to be measured."""


def require_workers(connection: psycopg.Connection, query: str, count: int) -> None:
    """Runs it once, and raises unless that many workers took part."""
    plan = connection.execute(f"EXPLAIN (ANALYZE, COSTS OFF) {query}").fetchall()
    if not any(f"Workers Launched: {count}" in line for (line,) in plan):
        raise NotParallel(f"{count} workers were wanted: {query}")


@contextmanager
def _connections(site: Site) -> Iterator[dict[str, Measure]]:
    """The whole scan by one connection, and by two at once, each in one process: `EXPRESSION/alone`."""
    with ExitStack() as stack:
        both = [stack.enter_context(site.connect()) for _ in range(2)]
        pool = stack.enter_context(ThreadPoolExecutor(len(both)))
        for connection in both:
            set_(connection, {"max_parallel_workers_per_gather": 0})

        def scan(expression: str, count: int) -> Measure:
            query = f"SELECT sum({expression}) FROM flights f"
            return lambda: max(pool.map(lambda one: seconds(one, query), both[:count]))

        yield {
            f"{name}/{text}": scan(expression, count)
            for name, expression in EXPRESSIONS.items()
            for text, count in (("alone", 1), ("together", 2))
        }


def workers(site: Site, repetitions: int) -> Subject:
    """Seconds of the whole scan: `EXPRESSION/COUNT of workers`, and by connections, `.../together` by two."""
    with site.connect() as connection, _connections(site) as connections:
        set_(connection, PARALLEL)

        def scan(expression: str, count: int) -> Measure:
            wanted = {
                "max_parallel_workers_per_gather": count,
                forced(connection): "on" if count == 1 else "off",
            }
            query = f"SELECT sum({expression}) FROM flights f"
            set_(connection, wanted)
            require_workers(connection, query, count)

            def measure() -> float:
                set_(connection, wanted)
                return seconds(connection, query)

            return measure

        measures = {
            f"{name}/{count}": scan(expression, count)
            for name, expression in EXPRESSIONS.items()
            for count in COUNTS
        }
        return Subject("s", in_turn(measures | connections, repetitions))
