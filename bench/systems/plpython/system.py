"""A function in PL/Python keeps the booster in the backend's memory and predicts as the tuned service does.

A backend's first call imports XGBoost and loads the model, which takes a second or more, so this
goes through PgBouncer, whose few connections stay; each has made a call before anything is timed.
"""

from functools import cached_property
from typing import Any

from psycopg import sql

from bench import requests
from bench.systems.pgbouncer import ThroughPgbouncer
from bench.workload import Cell

# Whatever is imported stays with the backend, and so does GD.
BODY = """
booster = GD.get(model)
if booster is None:
    import sys
    sys.path[:0] = [place for place in {packages} if place not in sys.path]
    import numpy, xgboost
    plan = plpy.prepare("SELECT export_model($1) AS bytes", ["text"])
    booster = xgboost.Booster({{"nthread": 1}}, model_file=bytearray(plan.execute([model])[0]["bytes"]))
    GD["array"], GD[model] = numpy.array, booster
rows = GD["array"]([features], dtype="float32")
return booster.inplace_predict(rows, validate_features=False).item()
"""
CREATE = (
    "CREATE OR REPLACE FUNCTION plpython_predict(model text, features real[]) RETURNS real"
    " LANGUAGE plpython3u STABLE AS {}"
)
ON_SERVER = "bench.systems.plpython.on_server"


class Plpython(ThroughPgbouncer):
    """A function in an untrusted language, which a superuser has made and the role may call."""

    call = "plpython_predict('{model}', ARRAY[{columns}])"
    place = "pgbouncer-plpython"
    can_prepare = False
    _first_call_seconds = 0.0

    @cached_property
    def _found(self) -> dict[str, Any]:
        return self._site.server.call(f"{ON_SERVER}:find")

    def lacks(self, cell: Cell) -> str | None:
        """PL/Python of the same Python that has XGBoost."""
        return self._found["lacks"] or super().lacks(cell)

    def install(self) -> dict[str, str]:
        database = self._site.database
        body = sql.Literal(BODY.format(packages=repr(self._found["packages"])))
        grant = sql.SQL("GRANT EXECUTE ON FUNCTION export_model TO {}")
        database.execute(
            ("CREATE EXTENSION IF NOT EXISTS plpython3u", ()),
            (sql.SQL(CREATE).format(body), ()),
            (grant.format(sql.Identifier(database.role)), ()),
        )
        version = "SELECT extversion FROM pg_extension WHERE extname = 'plpython3u'"
        return {**super().install(), "plpython3u": database.one(version)}

    def start(self, trees: int) -> None:
        """Starts PgBouncer, and has all its connections import XGBoost."""
        super().start(trees)
        self._first_call_seconds = self._site.client.call(
            f"{ON_SERVER}:warm",
            conninfo=self._site.database.conninfo(self.at),
            statement=requests.one(self._asked, self._site.keys[0]),
            connections=self.pool,
        )

    def configuration(self) -> dict[str, Any]:
        """How long a connection's first call took, too."""
        return {**super().configuration(), "first_call_seconds": self._first_call_seconds}
