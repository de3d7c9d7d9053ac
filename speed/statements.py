"""Whole statements that predict for many rows, with batches and without, beside the same without predict.

An aggregate, a tenth of the rows, and two that write what they predict. What they write into is
made ready before the clock starts.
"""

from speed.record import BATCHES, LARGE, SMALL, Subject
from speed.scan import ONE_PROCESS
from speed.sessions import Measure, seconds, set_
from speed.site import Site, columns
from workbench.queries import CONTROL
from workbench.turns import in_turn

TABLE = "predicted"
DROP = f"DROP TABLE IF EXISTS {TABLE}"
# What is done before, and the statement; the days of the month are spread evenly.
STATEMENTS = {
    "avg": ([], "SELECT avg({}) FROM flights f"),
    "where": ([], "SELECT sum({}) FROM flights f WHERE dayofmonth <= 3"),
    "insert": (
        [DROP, f"CREATE TABLE {TABLE} (value real)"],
        f"INSERT INTO {TABLE} SELECT {{}} FROM flights f",
    ),
    "create": ([DROP], f"CREATE TABLE {TABLE} AS SELECT {{}} FROM flights f"),
}


def statements(site: Site, repetitions: int) -> Subject:
    """Seconds: `STATEMENT/control`, `STATEMENT/MODEL/on`."""
    with site.connect() as connection:
        set_(connection, ONE_PROCESS | {"client_min_messages": "warning"})

        def run(name: str, expression: str, batch: str) -> Measure:
            before, statement = STATEMENTS[name]

            def measure() -> float:
                set_(connection, {"pgboost.enable_batch": batch})
                for one in before:
                    connection.execute(one)
                return seconds(connection, statement.format(expression))

            return measure

        measures: dict[str, Measure] = {}
        for name in STATEMENTS:
            measures[f"{name}/control"] = run(name, CONTROL, "on")
            for label in (SMALL, LARGE):
                for batch in BATCHES:
                    measures[f"{name}/{label}/{batch}"] = run(name, columns(label), batch)
        found = in_turn(measures, repetitions)
        connection.execute(DROP)
        return Subject("s", found)
