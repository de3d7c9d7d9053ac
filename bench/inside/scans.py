"""Statements over all flights, with predict relative to the same without.

`scans` uses one process and every form of predict's arguments. The control is the cheapest function of the
same ten columns, and for jsonb the construction of the object; the plain scan counts the last column, so that
all are read from the row. XGBoost's batch is interleaved, in a separate process with the same rows in memory;
both must first give the same bits. `workers` compares one parallel worker with two. `statements` measures
whole statements for many rows, two of which write predictions to a table that is prepared before.
"""

from collections.abc import Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from itertools import product

import psycopg

from bench.inside.reference import beside, predict_all
from bench.inside.series import BATCHES, LOAD, Subjects, subject
from bench.inside.site import COLUMNS, EXPRESSIONS, NAMES, ROWS, Measure, Site, seconds, set_
from bench.interleaving import interleaved
from data.columns import FEATURES
from tools.workbench.queries import CONTROL, FORMS, JSONB_CONTROL, predict

ONE_PROCESS = {"max_parallel_workers_per_gather": 0}
# The predictions' bits as integers, so that their sum does not depend on the order.
BITS = "sum(('x' || encode(float4send({}), 'hex'))::bit(32)::int::bigint)"
# The leader only collects, so that one worker is compared with two.
PARALLEL = {
    "parallel_leader_participation": "off",
    "parallel_setup_cost": 0,
    "parallel_tuple_cost": 0,
    "min_parallel_table_scan_size": 0,
}
TABLE = "predicted"
DROP = f"DROP TABLE IF EXISTS {TABLE}"
# The preparation and the statement; days of the month are distributed evenly.
STATEMENTS = {
    "avg": ([], "SELECT avg({}) FROM flights f"),
    "where": ([], "SELECT sum({}) FROM flights f WHERE dayofmonth <= 3"),
    "insert": (
        [DROP, f"CREATE TABLE {TABLE} (value real)"],
        f"INSERT INTO {TABLE} SELECT {{}} FROM flights f",
    ),
    "create": ([DROP], f"CREATE TABLE {TABLE} AS SELECT {{}} FROM flights f"),
}


def measured(
    connection: psycopg.Connection, statement: str, batch: str = "on", before: Sequence[str] = ()
) -> Measure:
    """Returns the measure of a statement's seconds, with batches or without."""

    def measure() -> float:
        set_(connection, {"pgboost.enable_batch": batch})
        for one in before:
            connection.execute(one)
        return seconds(connection, statement)

    return measure


def check(connection: psycopg.Connection, xgboost: Executor) -> None:
    """Raises unless SQL gives XGBoost's bits, with batches and without; also warms the cache."""
    for label, columns in COLUMNS.items():
        _, expected = xgboost.submit(predict_all, label).result()
        for batch in BATCHES:
            set_(connection, {**ONE_PROCESS, "pgboost.enable_batch": batch})
            query = f"SELECT {BITS.format(columns)} FROM flights f"
            if connection.execute(query).fetchone() != (expected,):
                raise SystemExit(f"{label}, batches {batch}: SQL does not give XGBoost's bits")


def _in_python(xgboost: Executor, label: str) -> float:
    return xgboost.submit(predict_all, label).result()[0]


def scans(site: Site) -> Subjects:
    """Measures seconds: `plain`, `control`, `jsonb control`, `MODEL/FORM/on`, `xgboost/MODEL`."""
    with beside(ROWS, site.files) as xgboost, site.connect() as connection:
        check(connection, xgboost)
        set_(connection, ONE_PROCESS)
        sums = {"plain": f"count({FEATURES[-1]})", "control": f"sum({CONTROL})"}
        sums["jsonb control"] = f"sum({JSONB_CONTROL})"
        measures: dict[str, Measure] = {
            name: measured(connection, f"SELECT {one} FROM flights f") for name, one in sums.items()
        }
        for label, name in NAMES.items():
            measures[f"xgboost/{label}"] = partial(_in_python, xgboost, label)
            for form, batch in product(FORMS, BATCHES):
                query = f"SELECT sum({predict(form, name)}) FROM flights f"
                measures[f"{label}/{form}/{batch}"] = measured(connection, query, batch)
        return {"scan": subject("s", interleaved(measures, LOAD.repetitions))}


def statements(site: Site) -> Subjects:
    """Measures seconds: `STATEMENT/control`, `STATEMENT/MODEL/on`."""
    with site.connect() as connection:
        set_(connection, ONE_PROCESS | {"client_min_messages": "warning"})
        measures: dict[str, Measure] = {}
        for name, (before, statement) in STATEMENTS.items():
            of = partial(measured, connection, before=before)
            measures[f"{name}/control"] = of(statement.format(CONTROL))
            for (label, columns), batch in product(COLUMNS.items(), BATCHES):
                measures[f"{name}/{label}/{batch}"] = of(statement.format(columns), batch)
        found = interleaved(measures, LOAD.repetitions)
        connection.execute(DROP)
        return {"statements": subject("s", found)}


def maintained(site: Site) -> Subjects:
    """Measures seconds of writing all flights to a table: `control`, and with `MODEL`'s score."""
    copy = f"CREATE TABLE {TABLE} (LIKE flights)"
    keep = f"SELECT maintain_scores('{TABLE}', '{{}}')"
    into = f"INSERT INTO {TABLE} ({', '.join(FEATURES)}) SELECT {', '.join(FEATURES)} FROM flights"
    with site.connect() as connection:
        set_(connection, {"client_min_messages": "warning"})
        measures = {"control": measured(connection, into, before=[DROP, copy])}
        for label, name in NAMES.items():
            before = [DROP, copy, keep.format(name)]
            measures[label] = measured(connection, into, before=before)
        found = interleaved(measures, LOAD.repetitions)
        connection.execute(DROP)
        return {"maintained": subject("s", found)}


def forced(connection: psycopg.Connection) -> str:
    """Returns the setting that forces parallel plans; its name differs by release."""
    names = ["debug_parallel_query", "force_parallel_mode"]
    query = "SELECT name FROM pg_settings WHERE name = ANY(%s)"
    return connection.execute(query, (names,)).fetchone()[0]


def require_workers(connection: psycopg.Connection, query: str, count: int) -> None:
    """Runs the query once, and raises unless it launched that many workers."""
    plan = connection.execute(f"EXPLAIN (ANALYZE, COSTS OFF) {query}").fetchall()
    if not any(f"Workers Launched: {count}" in line for (line,) in plan):
        raise SystemExit(f"{count} workers were wanted: {query}")


def workers(site: Site) -> Subjects:
    """Measures seconds of the whole scan: `EXPRESSION/COUNT` workers, `.../alone` and `.../together`.

    A plan with one worker never wins by its cost, so it is forced. The control shows how much of two cores
    PostgreSQL uses, one and two connections how much of them the machine provides.
    """
    with ExitStack() as stack:
        leader, *both = [stack.enter_context(site.connect()) for _ in range(3)]
        pool = stack.enter_context(ThreadPoolExecutor(len(both)))
        set_(leader, PARALLEL)
        for connection in both:
            set_(connection, ONE_PROCESS)

        def parallel(query: str, count: int) -> Measure:
            force = {forced(leader): "on" if count == 1 else "off"}
            wanted = {"max_parallel_workers_per_gather": count} | force
            set_(leader, wanted)
            require_workers(leader, query, count)
            return lambda: (set_(leader, wanted), seconds(leader, query))[1]

        def at_once(query: str, count: int) -> Measure:
            return lambda: max(pool.map(lambda one: seconds(one, query), both[:count]))

        measures: dict[str, Measure] = {}
        for name, expression in EXPRESSIONS.items():
            query = f"SELECT sum({expression}) FROM flights f"
            for count, text in ((1, "alone"), (2, "together")):
                measures[f"{name}/{count}"] = parallel(query, count)
                measures[f"{name}/{text}"] = at_once(query, count)
        return {"workers": subject("s", interleaved(measures, LOAD.repetitions))}
