"""The queries of docs/benchmarks/engine.md: each predicts in a batch, except those that say why
not, and gives the same with batches and without."""

from pathlib import Path

import psycopg
import pytest

from data.flights import Request
from data.load import copy_rows, create_table, generated
from tests.connections import plan_of
from tests.extension.batch.shapes import SHAPES, TABLES
from tools.workbench.training import Recipe, trained

ROWS = 6000


@pytest.fixture(scope="module", autouse=True)
def tables(cluster, dbname: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The tables, and two models of them."""
    directory: Path = tmp_path_factory.mktemp("models")
    with cluster.connect(dbname) as connection:
        create_table(connection)
        copy_rows(connection, generated(Request(ROWS)), ROWS)
        connection.execute(TABLES)
        for name, rounds in (("small", 3), ("large", 5)):
            model, _ = trained(Recipe(2000, rounds), directory, name)
            connection.execute("SELECT load_model(%s, %s)", (name, model.path.read_bytes()))


def given(connection: psycopg.Connection, statement: str, batches: str) -> list[str]:
    """The rows, as text and sorted; changes are rolled back."""
    connection.execute(f"SET pgboost.enable_batch = {batches}")
    with connection.transaction(force_rollback=True):
        cursor = connection.execute(statement)
        rows = cursor.fetchall() if cursor.description else []
        for table in ("results", "events"):
            rows += connection.execute(
                f"SELECT count(*), md5(string_agg(t::text, '' ORDER BY id)) FROM {table} AS t"
            ).fetchall()
        return sorted(map(str, rows))


@pytest.mark.parametrize("name", SHAPES)
def test_it_predicts_in_a_batch(connection: psycopg.Connection, name: str) -> None:
    shape = SHAPES[name]
    statement = shape.statement("small")
    with connection.transaction(force_rollback=True):
        plan = plan_of(connection, statement, "(ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF)")
    counts = [int(line.split(":")[1]) for line in plan.split("\n") if "Batched Rows" in line]
    assert bool(counts) == ("BatchPredict" in plan) != bool(shape.reason), plan
    assert all(count > 20 for count in counts), plan
    expected = given(connection, statement, "off")
    assert given(connection, statement, "on") == expected
    assert len(expected) > 1
    connection.execute(f"EXPLAIN {shape.control()}")
