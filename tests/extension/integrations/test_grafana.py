"""The dashboard and the exporter's queries: Grafana's own types read the dashboard without losing a field,
and every query runs as a role that monitors."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from grafana_foundation_sdk.cog import plugins
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard
from psycopg import Connection

from tests.extension.batch.conftest import create
from tools.cluster.server import Cluster

INTEGRATIONS = Path(__file__).resolve().parents[3] / "packaging" / "monitoring"
DASHBOARD = json.loads((INTEGRATIONS / "grafana" / "pgboost.json").read_text())
EXPORTED = yaml.safe_load((INTEGRATIONS / "prometheus" / "pgboost.yaml").read_text())
TARGETS = [target for panel in DASHBOARD["panels"] for target in panel["targets"]]
# Choices of the dashboard's user, as Grafana writes them into SQL.
VARIABLES = {"drift_model": "'price'", "drift_source": "'homes'"}


@pytest.fixture(scope="module")
def monitor(cluster: Cluster, dbname: str) -> Iterator[Connection]:
    """A connection of a role that may monitor, read the tables and predict; predictions were counted."""
    with cluster.connect(dbname) as connection:
        create(connection)
        connection.execute(
            "CREATE EXTENSION pgboost_train; CREATE ROLE grafana LOGIN; GRANT pg_monitor TO grafana;"
            " GRANT SELECT ON homes TO grafana; SELECT grant_model('price', 'grafana', 'inspect');"
            " SELECT set_baseline('price', 'homes')"
        )
        connection.execute("SET pgboost.track_predictions = on")
        connection.execute("SELECT sum(predict('price', area, rooms, age)) FROM homes")
    with cluster.connect(dbname, user="grafana") as connection:
        yield connection
    with cluster.connect(dbname) as connection:
        connection.execute("DROP OWNED BY grafana; DROP ROLE grafana")


def lost(written: Any, read: Any, place: str = "") -> list[str]:
    """The parts of `written` that `read` does not have."""
    if isinstance(written, dict) and isinstance(read, dict):
        return [
            found
            for key, value in written.items()
            for found in (
                lost(value, read[key], f"{place}.{key}") if key in read else [f"{place}.{key}"]
            )
        ]
    if isinstance(written, list) and isinstance(read, list) and len(written) == len(read):
        pairs = enumerate(zip(written, read, strict=True))
        return [found for index, (a, b) in pairs for found in lost(a, b, f"{place}[{index}]")]
    return [] if written == read else [place]


def test_grafana_knows_all_of_the_dashboard() -> None:
    plugins.register_default_plugins()
    read = json.loads(JSONEncoder().encode(Dashboard.from_json(DASHBOARD)))
    assert lost(DASHBOARD, read) == []
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])


def test_its_series_are_those_that_are_exported() -> None:
    exported = {
        f"{name}_{column}"
        for name, query in EXPORTED.items()
        for metric in query["metrics"]
        for column, told in metric.items()
        if told["usage"] != "LABEL"
    }
    shown = {
        name for target in TARGETS for name in re.findall(r"\bpgboost_\w+", target.get("expr", ""))
    }
    assert shown and shown <= exported


@pytest.mark.parametrize("sql", [target["rawSql"] for target in TARGETS if "rawSql" in target])
def test_its_tables_are_of_rows_that_a_monitor_may_see(monitor: Connection, sql: str) -> None:
    for name, value in VARIABLES.items():
        sql = sql.replace(f"${{{name}:sqlstring}}", value)
    assert "$" not in sql
    rows = monitor.execute(sql).fetchall()
    assert bool(rows) != ("progress" in sql)


@pytest.mark.parametrize("name", EXPORTED)
def test_queries_return_the_exporters_columns(monitor: Connection, name: str) -> None:
    cursor = monitor.execute(EXPORTED[name]["query"])
    columns = [column.name for column in cursor.description or ()]
    assert columns == [column for metric in EXPORTED[name]["metrics"] for column in metric]
    if name == "pgboost":
        counted = {row[0]: row[columns.index("rows_total")] for row in cursor.fetchall()}
        assert counted["price"] == 1000
