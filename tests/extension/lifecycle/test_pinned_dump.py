"""Dependents of a pinned version are dumped and restored, in the order that each kind needs."""

from pathlib import Path

import pytest
from psycopg import errors

from tests.extension.lifecycle.client_programs import restored, run
from tests.extension.lifecycle.models import grown, load, one
from tools.cluster import Cluster

TARGET = "pin_restored"
ARGUMENTS = "a, 0.9, 0.3, 0.7, 0.5, 0.2, 0.8, 0.4, 0.6, NULL"


def source(
    cluster: Cluster, database: str, schema: str, generated: bool, table: str = "public.a_table"
) -> list[tuple]:
    """A database with a pinned version and a table that depends on it; returns the table's scores."""
    cluster.create_database(database, replace=True)
    with cluster.connect(database) as connection:
        if schema != "public":
            connection.execute(f"CREATE SCHEMA {schema}")
        connection.execute(f"CREATE EXTENSION pgboost SCHEMA {schema}")
        connection.execute(f"SET search_path = {schema}, public")
        load(connection, "m", grown(20, 5))
        connection.execute("SELECT pin_model('m@1'), set_alias('m@1', 'champion')")
        call = f"{schema}.predict_pinned('m@1', {ARGUMENTS})"
        connection.execute("CREATE SCHEMA app")
        connection.execute(f"CREATE TABLE {table} (a real)")
        if generated:
            connection.execute(
                f"ALTER TABLE {table} ADD score real GENERATED ALWAYS AS ({call}) STORED"
            )
        connection.execute(
            f"INSERT INTO {table} SELECT i / 100.0 FROM generate_series(1, 500) AS i"
        )
        connection.execute(f"CREATE INDEX by_score ON {table} (({call}))")
    return facts(cluster, database, table)


def facts(cluster: Cluster, database: str, table: str = "public.a_table") -> list[tuple]:
    """The rows, their scores by the index, and that the version is still guarded."""
    with cluster.connect(database) as connection:
        schema = one(
            connection,
            "SELECT extnamespace::regnamespace::text FROM pg_extension WHERE extname = 'pgboost'",
        )
        connection.execute(f"SET search_path = {schema}, public")
        connection.execute("SET enable_seqscan = off")
        with pytest.raises(errors.ObjectInUse):
            connection.execute("SELECT unpin_model('m@1')")
        with pytest.raises(errors.ObjectInUse):
            connection.execute("SELECT drop_model('m')")
        score = f"predict_pinned('m@1', {ARGUMENTS})"
        query = f"SELECT t.*, {score} FROM {table} AS t ORDER BY {score}, a"
        plan = connection.execute(f"EXPLAIN {query}").fetchall()
        assert any("by_score" in line for (line,) in plan), plan
        aliases = connection.execute("SELECT * FROM pgboost_aliases").fetchall()
        return aliases + connection.execute(query).fetchall()


def test_a_plain_dump_restores_an_index(cluster: Cluster) -> None:
    before = source(cluster, "pin_index", "public", generated=False)
    assert len(before) > 500
    assert facts(cluster, restored(cluster, "pin_index", TARGET)) == before


def test_a_dump_keeps_which_numbers_were_pinned(cluster: Cluster) -> None:
    """Also the numbers of dropped models, whose stored results must never become another model's."""
    source(cluster, "pin_numbers", "public", generated=False)
    with cluster.connect("pin_numbers") as connection:
        connection.execute("DROP TABLE a_table")
        connection.execute("SELECT unpin_model('m@1'), drop_model('m')")
    with cluster.connect(restored(cluster, "pin_numbers", TARGET)) as connection:
        assert load(connection, "m", grown(20, 5)) == 2
        assert load(connection, "other", grown(20, 5)) == 1


@pytest.mark.parametrize("parallel", [False, True])
def test_an_archive_restores_an_index(cluster: Cluster, tmp_path: Path, parallel: bool) -> None:
    """In parallel section by section: otherwise an index may be built before the models are restored."""
    before = source(cluster, "pin_archive", "public", generated=False)
    cluster.create_database(TARGET, replace=True)
    archive = tmp_path / "archive"
    run(cluster, "pin_archive", "pg_dump", "--format=custom", "--file", archive)
    sections = ("pre-data", "data", "post-data")
    for options in [("--jobs=2", f"--section={part}") for part in sections] if parallel else [()]:
        run(cluster, TARGET, "pg_restore", *options, "-d", TARGET, archive)
    assert facts(cluster, TARGET) == before


def test_a_generated_column_of_an_earlier_schema_needs_the_models_first(cluster: Cluster) -> None:
    """pg_dump writes app.a_table before pgboost_catalog.model, as the SQL reference says."""
    source(cluster, "pin_column", "public", generated=True, table="app.a_table")
    with pytest.raises(AssertionError, match='model "m" does not exist'):
        restored(cluster, "pin_column", TARGET)


@pytest.mark.parametrize("schema", ["public", "zoo"])
def test_a_generated_column_of_a_later_schema_is_restored(cluster: Cluster, schema: str) -> None:
    before = source(cluster, "pin_schema", schema, generated=True)
    assert facts(cluster, restored(cluster, "pin_schema", TARGET)) == before


def test_lists_restore_a_generated_column(cluster: Cluster, tmp_path: Path) -> None:
    table = "app.a_table"
    before = source(cluster, "pin_lists", "public", generated=True, table=table)
    cluster.create_database(TARGET, replace=True)
    archive, models, others = (tmp_path / name for name in ("archive", "models", "others"))
    run(cluster, "pin_lists", "pg_dump", "--format=custom", "--file", archive)
    listed = run(cluster, TARGET, "pg_restore", "--list", archive).decode().splitlines()
    data = [line for line in listed if " TABLE DATA " in line]
    models.write_text("\n".join(line for line in data if " pgboost_catalog " in line))
    others.write_text("\n".join(line for line in data if " pgboost_catalog " not in line))
    run(cluster, TARGET, "pg_restore", "--section=pre-data", "-d", TARGET, archive)
    for part in (models, others):
        run(cluster, TARGET, "pg_restore", "--use-list", part, "-d", TARGET, archive)
    run(cluster, TARGET, "pg_restore", "--section=post-data", "-d", TARGET, archive)
    assert facts(cluster, TARGET, table) == before
