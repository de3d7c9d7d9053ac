"""What a fresh connection, and a fresh parallel worker, pay for their first prediction.

Another connection has predicted before, so the image is there. Time is that of the connection's
first statement; connecting is not counted. Of workers it is the time of a parallel query over a few
rows: every such query starts its worker anew, and the worker does all of it. The connection of the
control never loads the library.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import psycopg

from bench.processes import private_bytes
from speed.record import LARGE, SMALL, Subject
from speed.sessions import Measure, seconds, set_
from speed.site import ONE, Site, columns, on_constants
from speed.workers import forced, require_workers
from workbench.queries import CONTROL
from workbench.turns import in_turn

FLOOR = "SELECT 1"
FIRST = {
    FLOOR: FLOOR,
    "table": f"SELECT {CONTROL} {ONE}",
    **{f"constants/{label}": f"SELECT {on_constants(label)}" for label in (SMALL, LARGE)},
    **{f"table/{label}": f"SELECT {columns(label)} {ONE}" for label in (SMALL, LARGE)},
}
FEW = "few_flights"
FEW_ROWS = 8
# Images that changed in the last two seconds are checked by all who open them.
SETTLED = "SELECT pg_sleep(2.5)"


@contextmanager
def _other(site: Site) -> Iterator[None]:
    """Meanwhile another connection has both models."""
    with site.connect() as connection:
        connection.execute(SETTLED)
        for statement in FIRST.values():
            connection.execute(statement)
        yield


def first_statements(site: Site, connections: int) -> tuple[Subject, Subject]:
    """Seconds of the first statement, and private bytes after it, by the names in FIRST."""
    own: dict[str, list[float]] = {name: [] for name in FIRST}

    def first(name: str, statement: str) -> Measure:
        def measure() -> float:
            with site.connect() as connection:
                took = seconds(connection, statement)
                own[name].append(float(private_bytes(connection.info.backend_pid)))
                return took

        return measure

    measures = {name: first(name, statement) for name, statement in FIRST.items()}
    with _other(site):
        return Subject("s", in_turn(measures, connections)), Subject("bytes", own)


def _parallel(connection: psycopg.Connection, query: str) -> Measure:
    set_(connection, {forced(connection): "on"})
    require_workers(connection, query, 1)
    return lambda: seconds(connection, query)


def first_in_workers(site: Site, runs: int) -> Subject:
    """Seconds of a parallel query over a few rows: `control`, and each model."""
    with ExitStack() as stack:
        maker = stack.enter_context(site.connect())
        maker.execute(f"DROP TABLE IF EXISTS {FEW}")
        maker.execute(f"CREATE TABLE {FEW} AS SELECT * FROM flights LIMIT {FEW_ROWS}")
        maker.execute(f"ANALYZE {FEW}")
        expressions = {"control": CONTROL, SMALL: columns(SMALL), LARGE: columns(LARGE)}
        measures = {
            name: _parallel(
                stack.enter_context(site.connect()), f"SELECT sum({expression}) FROM {FEW} f"
            )
            for name, expression in expressions.items()
        }
        found = in_turn(measures, runs)
        maker.execute(f"DROP TABLE {FEW}")
        return Subject("s", found)
