"""Prepared statements of one to a thousand rows, with predict relative to the cheapest function.

The rows are found by a range of an integer key, whose first value is drawn for each statement, by a generic
plan. pgbench measures all interleaved, one client over a Unix socket; a run's first second is not counted.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import psycopg
import xgboost

import catboost
import lightgbm
from bench import generators
from bench.generators import pgbench
from bench.inside.series import (
    BATCHES,
    FEW,
    LEAFWISE,
    OBLIVIOUS,
    SHAPE_ROWS,
    SMALL,
    WIDER,
    Load,
    Subjects,
    subject,
)
from bench.inside.site import COLUMNS, Measure, Site, set_
from bench.interleaving import interleaved
from data.columns import FEATURES
from tools.workbench.preparation import DATABASE
from tools.workbench.queries import CONTROL, FORMS

KEYS = 200_000
TRAINED = 20_000
TABLE = f"""
    CREATE TABLE few_flights AS SELECT row_number() OVER ()::integer AS id, {", ".join(FEATURES)}
      FROM (SELECT * FROM flights LIMIT {KEYS}) AS f;
    ALTER TABLE few_flights ADD PRIMARY KEY (id);
"""


def models(features: np.ndarray, target: np.ndarray) -> Iterator[tuple[str, bytes]]:
    """Yields the further models' files, by label."""
    matrix = xgboost.DMatrix(features, target, feature_names=FEATURES)
    yield WIDER, bytes(xgboost.train({"max_depth": 8}, matrix, 200).save_raw("ubj"))
    leafwise = lightgbm.LGBMRegressor(verbose=-1, n_jobs=1).fit(
        features, target, feature_name=FEATURES
    )
    yield LEAFWISE, leafwise.booster_.model_to_string().encode()
    oblivious = catboost.CatBoostRegressor(verbose=0, allow_writing_files=False)
    pool = catboost.Pool(features, target, feature_names=FEATURES)
    yield OBLIVIOUS, oblivious.fit(pool)._serialize_model()


@contextmanager
def made(connection: psycopg.Connection) -> Iterator[None]:
    """Makes the table and the further models; the settings of pgbench's connections end with it in any case.

    The cluster's files are kept, so that settings of its database would count for all later measurements.
    """
    make(connection)
    try:
        connection.execute(f"ALTER DATABASE {DATABASE} SET plan_cache_mode = force_generic_plan")
        yield
    finally:
        connection.execute(f"ALTER DATABASE {DATABASE} RESET ALL")
        connection.execute("DROP TABLE few_flights")
        for label in (WIDER, LEAFWISE, OBLIVIOUS):
            connection.execute("SELECT drop_model(%s)", (f"few_{label}",))


def make(connection: psycopg.Connection) -> None:
    """Makes the table, and loads the further models."""
    set_(connection, {"client_min_messages": "warning"})
    connection.execute("DROP TABLE IF EXISTS few_flights")
    connection.execute(TABLE)
    connection.execute("VACUUM ANALYZE few_flights")
    query = f"SELECT {', '.join(FEATURES)} FROM few_flights WHERE id <= {TRAINED}"
    features = np.array(connection.execute(query).fetchall(), dtype=np.float32)
    # Any function of the features gives trees of these shapes.
    target = np.nan_to_num(
        features[:, 0] * np.sin(features[:, 3]) + features[:, 2] * features[:, 5]
    )
    for label, file in models(features, target):
        connection.execute(
            "SELECT load_model(%s, %s, allow_change => true)", (f"few_{label}", file)
        )


def expressions() -> dict[str, str]:
    """Returns the measured expressions by label."""
    columns = FORMS["columns"]
    further = {
        label: f"predict('few_{label}', {columns})" for label in (WIDER, LEAFWISE, OBLIVIOUS)
    }
    explained = {f"contribs {LEAFWISE}": f"predict_contribs('few_{LEAFWISE}', {columns})"}
    return {SMALL: COLUMNS[SMALL], **further, **explained}


def few_rows(site: Site, load: Load) -> Subjects:
    """Measures microseconds of a statement: `ROWS/control`, `ROWS/MODEL/on`, `ROWS/MODEL/off`."""
    with tempfile.TemporaryDirectory() as folder, site.connect() as connection, made(connection):

        def run(name: str, expression: str, rows: int, batch: str = "on") -> Measure:
            script = Path(folder, f"{name.replace('/', '-').replace(' ', '-')}.sql")
            script.write_text(
                f"\\set id random(1, {KEYS - rows})\n"
                f"SELECT id, {expression} FROM few_flights f WHERE id BETWEEN :id AND :id + {rows - 1};\n"
            )
            asked = generators.Load(1, load.seconds, seed=0, warm_up=1)

            def measure() -> float:
                connection.execute(f"ALTER DATABASE {DATABASE} SET pgboost.enable_batch = {batch}")
                done = pgbench.run(site.cluster, DATABASE, script, "prepared", asked)
                return 1e6 / done.requests_per_second

            return measure

        measures: dict[str, Measure] = {}
        for rows in FEW:
            measures[f"{rows}/control"] = run(f"{rows}/control", CONTROL, rows)
            for label, expression in expressions().items():
                if label == SMALL or rows == SHAPE_ROWS:
                    for batch in BATCHES:
                        name = f"{rows}/{label}/{batch}"
                        measures[name] = run(name, expression, rows, batch)
        return {"few rows": subject("us", interleaved(measures, load.repetitions))}
