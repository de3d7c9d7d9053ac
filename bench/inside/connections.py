"""The cost of models for connections: the time of a first prediction, and the memory of many connections.

A fresh connection predicts after another one has, so the image exists; connecting is not counted, and the
control's connection never loads the library. For parallel workers the figure is the time of a query over a
few rows, each of which starts a new worker that does all of it. The sum of many connections' proportional set
sizes counts a shared page once, so the excess of predicting ones is the image and their private memory.
"""

from contextlib import ExitStack
from functools import partial

from bench.inside.scans import forced, require_workers
from bench.inside.series import LOAD, Subject, Subjects, subject
from bench.inside.site import (
    COLUMNS,
    EXPRESSIONS,
    ONE,
    Measure,
    Site,
    on_constants,
    running,
    seconds,
    set_,
)
from bench.interleaving import interleaved
from bench.processes import private_bytes, pss_bytes
from tools.workbench.queries import CONTROL

FIRST = {
    "SELECT 1": "SELECT 1",
    "table": f"SELECT {CONTROL} {ONE}",
    **{f"constants/{label}": f"SELECT {on_constants(label)}" for label in COLUMNS},
    **{f"table/{label}": f"SELECT {columns} {ONE}" for label, columns in COLUMNS.items()},
}
FEW = "few_flights"
FEW_ROWS = 8
# An image that changed in the last two seconds is verified by every backend that opens it.
SETTLED = "SELECT pg_sleep(2.5)"


def first(site: Site, name: str = "fresh") -> Subjects:
    """Measures the seconds of the first statement, and private bytes after it, by the names in FIRST."""
    own: dict[str, list[float]] = {name: [] for name in FIRST}

    def of_fresh(name: str, statement: str) -> Measure:
        def measure() -> float:
            with site.connect() as connection:
                took = seconds(connection, statement)
                own[name].append(float(private_bytes(connection.info.backend_pid)))
                return took

        return measure

    measures = {kind: of_fresh(kind, statement) for kind, statement in FIRST.items()}
    # Another connection keeps both models open.
    with site.connect() as other:
        other.execute(SETTLED)
        for statement in FIRST.values():
            other.execute(statement)
        found = subject("s", interleaved(measures, LOAD.fresh))
    workers = first_in_workers(site, LOAD.fresh)
    return {name: found, f"{name} memory": subject("bytes", own), f"{name} workers": workers}


def first_in_workers(site: Site, runs: int) -> Subject:
    """Measures the seconds of a parallel query over a few rows: `control`, and each model."""
    with ExitStack() as stack:
        maker = stack.enter_context(site.connect())
        maker.execute(f"DROP TABLE IF EXISTS {FEW}")
        maker.execute(f"CREATE TABLE {FEW} AS SELECT * FROM flights LIMIT {FEW_ROWS}")
        maker.execute(f"ANALYZE {FEW}")
        measures = {}
        for name, expression in EXPRESSIONS.items():
            connection = stack.enter_context(site.connect())
            query = f"SELECT sum({expression}) FROM {FEW} f"
            set_(connection, {forced(connection): "on"})
            require_workers(connection, query, 1)
            measures[name] = partial(seconds, connection, query)
        found = interleaved(measures, runs)
        maker.execute(f"DROP TABLE {FEW}")
        return subject("s", found)


def copies(site: Site, name: str = "copies") -> Subjects:
    """Measures bytes: `sum/control`, `sum/MODEL`, and the mean private memory, `private/...`."""
    private: dict[str, list[float]] = {f"private/{name}": [] for name in EXPRESSIONS}

    def held(name: str, expression: str) -> Measure:
        def measure() -> float:
            with ExitStack() as stack:
                made = [stack.enter_context(site.connect()) for _ in range(LOAD.together)]
                for connection in made:
                    connection.execute(f"SELECT {expression} {ONE}").fetchall()
                pids = [connection.info.backend_pid for connection in made]
                private[f"private/{name}"].append(sum(map(private_bytes, pids)) / len(pids))
                return float(pss_bytes(pids))

        return measure

    measures = {f"sum/{kind}": held(kind, one) for kind, one in EXPRESSIONS.items()}
    return {name: subject("bytes", interleaved(measures, LOAD.repetitions) | private)}


def preloaded(site: Site) -> Subjects:
    """Measures first statements and copies with the library preloaded; restarts the server."""
    with running({"shared_preload_libraries": "pgboost"}) as cluster:
        again = Site(cluster, site.files)
        return copies(again, "preloaded copies") | first(again, "preloaded")
