"""How much faster two parallel workers are than one: the same scan, in turn.

The leader only collects (parallel_leader_participation is off), so that what is compared is one
worker's work with that of two. A plan with one such worker never wins by its cost, so it is forced.
The control tells how much of two cores the machine had to give.
"""

import psycopg

from demo.queries import CONTROL
from speed.record import LARGE, SMALL, Subject
from speed.site import Site, columns
from speed.turns import Measure, in_turn, seconds, set_

PARALLEL = {
    "parallel_leader_participation": "off",
    "parallel_setup_cost": 0,
    "parallel_tuple_cost": 0,
    "min_parallel_table_scan_size": 0,
}
COUNTS = (1, 2)


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


def workers(site: Site, repetitions: int) -> Subject:
    """Seconds of the whole scan: `EXPRESSION/COUNT of workers`."""
    expressions = {"control": CONTROL, SMALL: columns(SMALL), LARGE: columns(LARGE)}
    with site.connect() as connection:
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
            for name, expression in expressions.items()
            for count in COUNTS
        }
        return Subject("s", in_turn(measures, repetitions))
