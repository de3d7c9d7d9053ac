"""Statements of few rows by pgbench, with predict relative to the cheapest function of the same arguments.

`few_rows` finds one to a thousand rows by a range of an integer key, whose first value is drawn for each
statement, by a generic plan, with one client; `one_row` is the benchmark's query. All are interleaved, over a
Unix socket. A run's first second, in which connections are made and load the library, is not counted. Runs
are short and many, since a connection keeps its placement in memory and on cores for the whole run.
"""

import itertools
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np
import psycopg

from bench import generators
from bench.generators import pgbench
from bench.inside import series
from bench.inside.shapes import of_catboost, of_lightgbm, of_xgboost
from bench.inside.site import COLUMNS, NAMES, ONE, Measure, Site, set_
from bench.interleaving import interleaved
from data.columns import FEATURES
from tools.workbench.preparation import DATABASE
from tools.workbench.queries import CONTROL, FORMS, JSONB_CONTROL, ROW_CONTROL, predict

# The further models: two have their library's default size.
FURTHER: dict[str, Callable[[np.ndarray], bytes]] = {
    series.WIDER: lambda X: of_xgboost(X, FEATURES, 200, 8),
    series.LEAFWISE: lambda X: of_lightgbm(X, FEATURES, 100, 31),
    series.OBLIVIOUS: lambda X: of_catboost(X, FEATURES, 1_000, 6),
}
KEYS = 200_000
TRAINED = 20_000
TABLE = f"""
    CREATE TABLE few_flights AS SELECT row_number() OVER ()::integer AS id, {", ".join(FEATURES)}
      FROM (SELECT * FROM flights LIMIT {KEYS}) AS f;
    ALTER TABLE few_flights ADD PRIMARY KEY (id);
"""


@contextmanager
def made(connection: psycopg.Connection) -> Iterator[None]:
    """Makes the table and the further models; the settings of pgbench's connections end with it in any case.

    The cluster's files are kept, so that settings of its database would count for all later measurements.
    """
    set_(connection, {"client_min_messages": "warning"})
    connection.execute("DROP TABLE IF EXISTS few_flights")
    connection.execute(TABLE)
    connection.execute("VACUUM ANALYZE few_flights")
    query = f"SELECT {', '.join(FEATURES)} FROM few_flights WHERE id <= {TRAINED}"
    features = np.array(connection.execute(query).fetchall(), dtype=np.float32)
    load = "SELECT load_model(%s, %s, allow_change => true)"
    for label, trained in FURTHER.items():
        connection.execute(load, (f"few_{label}", trained(features)))
    try:
        connection.execute(f"ALTER DATABASE {DATABASE} SET plan_cache_mode = force_generic_plan")
        yield
    finally:
        connection.execute(f"ALTER DATABASE {DATABASE} RESET ALL")
        connection.execute("DROP TABLE few_flights")
        for label in FURTHER:
            connection.execute("SELECT drop_model(%s)", (f"few_{label}",))


def scripted(
    site: Site, folder: str, protocol: str, load: generators.Load
) -> Callable[..., Measure]:
    """Returns a maker of measures: the transactions per second of a script with a name."""

    def make(name: str, text: str) -> Measure:
        script = Path(folder, f"{name.replace('/', '-').replace(' ', '-')}.sql")
        script.write_text(f"{text};\n")
        run = partial(pgbench.run, site.cluster, DATABASE, script, protocol, load)
        return lambda: run().requests_per_second

    return make


def few_rows(site: Site) -> series.Subjects:
    """Measures microseconds of a statement: `ROWS/control`, `ROWS/MODEL/on`, `ROWS/MODEL/off`."""
    columns, measures = FORMS["columns"], {}
    further = {label: f"predict('few_{label}', {columns})" for label in FURTHER}
    further[f"contribs {series.LEAFWISE}"] = f"predict_contribs('few_{series.LEAFWISE}', {columns})"
    asked = generators.Load(1, series.LOAD.seconds, seed=0, warm_up=1)
    with tempfile.TemporaryDirectory() as folder, site.connect() as connection, made(connection):
        make = scripted(site, folder, "prepared", asked)

        def add(name: str, expression: str, rows: int, batch: str = "on") -> None:
            where = f"id BETWEEN :id AND :id + {rows - 1}"
            draw = f"\\set id random(1, {KEYS - rows})"
            query = f"SELECT id, {expression} FROM few_flights f WHERE {where}"
            measure = make(name, f"{draw}\n{query}")

            def microseconds() -> float:
                connection.execute(f"ALTER DATABASE {DATABASE} SET pgboost.enable_batch = {batch}")
                return 1e6 / measure()

            measures[name] = microseconds

        for rows in series.FEW:
            add(f"{rows}/control", CONTROL, rows)
            shown = {series.SMALL: COLUMNS[series.SMALL]} | (
                further if rows == series.SHAPE_ROWS else {}
            )
            for (label, expression), batch in itertools.product(shown.items(), series.BATCHES):
                add(f"{rows}/{label}/{batch}", expression, rows, batch)
        return {"few rows": series.subject("us", interleaved(measures, series.LOAD.repetitions))}


SCRIPTS = {"predict": COLUMNS[series.SMALL], "control": CONTROL}
OTHER_SCRIPTS = {form: predict(form, NAMES[series.SMALL]) for form in series.OTHER_FORMS}
OTHER_SCRIPTS |= {"row control": ROW_CONTROL, "jsonb control": JSONB_CONTROL}


def one_row(site: Site) -> series.Subjects:
    """Measures transactions/s: `PROTOCOL/CLIENTS/predict`, `.../control`, `.../row`, `.../row control`."""
    wanted = [
        *((clients, SCRIPTS) for clients in series.CLIENTS),
        (series.OTHER_CLIENTS, OTHER_SCRIPTS),
    ]
    with tempfile.TemporaryDirectory() as folder:
        measures = {}
        for protocol, (clients, scripts) in itertools.product(series.PROTOCOLS, wanted):
            asked = generators.Load(clients, series.LOAD.seconds, seed=0, warm_up=1)
            make = scripted(site, folder, protocol, asked)
            for name, expression in scripts.items():
                measures[f"{protocol}/{clients}/{name}"] = make(name, f"SELECT {expression} {ONE}")
        return {
            "one row": series.subject("transactions/s", interleaved(measures, series.LOAD.rounds))
        }
