"""Models move with pg_dump, into another database, and into a cluster without their roles; so do objects that
depend on a pinned version, in the order that each kind needs."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from psycopg import Connection, errors

from tests.connections import Connect, plan_of
from tests.extension.lifecycle.conftest import moved, psql, restored, run
from tests.extension.lifecycle.models import ROW, constant, grown, load, load_doubles, one, value
from tools.cluster import Cluster
from tools.cluster.server import bin_directory

LARGE_BYTES = 30_000_000
ROLES = ("dump_owner", "dump_user", "dump_loader")
SCORE = "predict_pinned('m@1', a, 0.9, 0.3, 0.7, 0.5, 0.2, 0.8, 0.4, 0.6, NULL)"
SCHEMA = "SELECT extnamespace::regnamespace::text FROM pg_extension WHERE extname = 'pgboost'"


@pytest.fixture(scope="module", autouse=True)
def roles(cluster: Cluster) -> Iterator[None]:
    """An owner, a user and a loader; all are there for most of the tests."""
    with cluster.connect() as connection:
        for role in ROLES:
            connection.execute(f"CREATE ROLE {role} LOGIN")
    yield
    with cluster.connect() as connection:
        databases = connection.execute("SELECT datname FROM pg_database WHERE datallowconn")
        for (database,) in databases.fetchall():
            with cluster.connect(database) as inside:
                inside.execute(f"DROP OWNED BY {', '.join(ROLES)}")
        connection.execute(f"DROP ROLE {', '.join(ROLES)}")


@pytest.fixture(scope="module")
def source(cluster: Cluster, dbname: str) -> str:
    """A database with models of several owners, versions, labels, aliases and rights."""
    with cluster.connect(dbname) as connection:
        grant = "GRANT EXECUTE ON FUNCTION load_model, deploy_model TO dump_owner, dump_loader"
        connection.execute(grant)
        connection.execute("GRANT EXECUTE ON FUNCTION drop_model TO dump_loader")
        connection.execute("REVOKE EXECUTE ON FUNCTION export_model FROM PUBLIC")
        load(connection, "grown", grown(20, 5))
        load_doubles(connection, "doubles")
        connection.execute("SET ROLE dump_owner")
        for version in (1, 2, 3):
            load(connection, "m", constant(version))
        connection.execute(
            "SELECT deploy_model('m@2', comment => 'kept'), grant_model('m', 'dump_user')"
        )
        load(connection, "open", constant(5))
        connection.execute("SELECT grant_model('open', 'public')")
        connection.execute("SELECT set_unknown_category('open', 'missing')")
        rows = "SELECT i AS {} FROM generate_series(1, 9) AS i"
        name = one(connection, "SELECT feature FROM model_features('open')")
        connection.execute("SELECT set_baseline('open', %s)", (rows.format(name),))
        connection.execute("RESET ROLE")
        connection.execute("SELECT set_alias('m@3', 'best')")
        connection.execute("SELECT create_predict_function('m@best', 'best_of_m')")
    return dbname


def facts(connection: Connection) -> list[tuple]:
    """The registry's content, and the answer of each version."""
    query = f"""
        SELECT m, i ->> 'sha256', i ->> 'real_input', i ->> 'unknown_category',
               CASE WHEN features = 1 THEN predict_margin(reference, 0.1::real)
                    ELSE predict_margin(reference, {ROW}) END,
               (SELECT jsonb_agg(p) FROM feature_baseline(reference) AS p)
          FROM pgboost_models AS m, LATERAL (SELECT name || '@' || version AS reference) AS r,
               LATERAL model_info(reference) AS i ORDER BY name, version"""
    rights = "SELECT model, role::text, privilege FROM pgboost_catalog.privilege ORDER BY 1, 2, 3"
    aliases = "SELECT name, alias, version, predict(name || '@' || alias, 1) FROM pgboost_aliases"
    deployments = "SELECT d, comment FROM pgboost_deployments AS d ORDER BY name, number"
    functions = """
        SELECT p.oid::regprocedure::text, a.grantee::regrole::text, a.privilege_type
          FROM pg_proc AS p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) AS a
         WHERE p.oid IN (SELECT objid FROM pg_depend AS d JOIN pg_extension AS e ON e.oid = refobjid
                          WHERE e.extname = 'pgboost' AND d.deptype = 'e') ORDER BY 1, 2, 3"""
    return [
        row
        for part in (query, rights, aliases, deployments, functions)
        for row in connection.execute(part).fetchall()
    ]


@pytest.mark.parametrize("way", ["plain", "archive", "two jobs"])
def test_a_dump_restores_everything(
    cluster: Cluster, connection: Connection, source: str, tmp_path: Path, way: str
) -> None:
    before = facts(connection)
    assert len(before) > 20
    with cluster.connect(moved(cluster, source, way, tmp_path)) as copy:
        assert facts(copy) == before


def test_a_function_of_a_model_is_restored_and_goes_with_it(cluster: Cluster, source: str) -> None:
    with cluster.connect(restored(cluster, source, "dump_function")) as connection:
        assert one(connection, "SELECT best_of_m(1)") == 3
        connection.execute("SELECT drop_model('m')")
        assert one(connection, "SELECT to_regproc('best_of_m') IS NULL")


def test_rights_hold_after_the_restore(cluster: Cluster, source: str) -> None:
    restored(cluster, source, "dump_rights")
    with cluster.connect("dump_rights", "dump_user") as user:
        assert value(user) == 2
        assert value(user, "open") == 5
        with pytest.raises(errors.InsufficientPrivilege):
            one(user, f"SELECT predict('grown', {ROW})")
        with pytest.raises(errors.InsufficientPrivilege):
            load(user, "mine", constant(1))
    with cluster.connect("dump_rights", "dump_owner") as owner:
        # Version numbers continue.
        assert load(owner, "m", constant(4)) == 4
        with pytest.raises(errors.InsufficientPrivilege):
            owner.execute("SELECT drop_model('m')")
    with cluster.connect("dump_rights", "dump_loader") as loader:
        assert load(loader, "another", constant(1)) == 1


def test_data_is_restored_into_an_existing_extension(cluster: Cluster, source: str) -> None:
    cluster.create_database("dump_data", replace=True)
    with cluster.connect("dump_data") as connection:
        connection.execute("CREATE EXTENSION pgboost")
        with pytest.raises(errors.UndefinedObject):
            value(connection)
        psql(cluster, "dump_data", stdin=run(cluster, source, "pg_dump", "--data-only"))
        assert value(connection) == 2


def test_models_survive_where_a_role_is_missing(cluster: Cluster, source: str) -> None:
    """Privileges are in a separate table, whose rows name roles: only they cannot be restored."""
    cluster.create_database("dump_roleless", replace=True)
    dump = run(cluster, source, "pg_dump", "--no-privileges", "--no-owner")
    for role in (b"dump_owner", b"dump_user"):
        dump = dump.replace(role, role + b"_of_elsewhere")
    command = [bin_directory() / "psql", "-q", "-o", "/dev/null"]
    environment = cluster.environment("dump_roleless")
    done = subprocess.run(command, env=environment, input=dump, capture_output=True, check=True)
    complaints = done.stderr.decode()
    assert 'role "dump_owner_of_elsewhere" does not exist' in complaints
    assert complaints.count("ERROR") == 1, complaints
    with cluster.connect("dump_roleless") as admin:
        assert value(admin) == 2
        assert [value(admin, f"m@{version}") for version in (1, 2, 3)] == [1, 2, 3]
        assert one(admin, "SELECT count(DISTINCT name) FROM pgboost_models") == 4
        # Nobody got a right by the accident; the superuser hands them out again.
        with cluster.connect("dump_roleless", "dump_user") as user:
            with pytest.raises(errors.InsufficientPrivilege):
                value(user)
            admin.execute("SELECT grant_model('m', 'dump_user')")
            assert value(user) == 2
        assert load(admin, "m", constant(4)) == 4


def test_a_right_of_a_dropped_role_goes_to_nobody(cluster: Cluster, source: str) -> None:
    """A dump must not carry the number of a role that is gone: elsewhere it may be another's."""
    with cluster.connect(source) as admin:
        admin.execute("CREATE ROLE dump_gone; SELECT grant_model('m', 'dump_gone')")
        load(admin, "owned", constant(5))
        admin.execute("SELECT set_model_owner('owned', 'dump_gone')")
        admin.execute("DROP OWNED BY dump_gone; DROP ROLE dump_gone")
    with cluster.connect(restored(cluster, source, "dump_gone")) as admin:
        roles = "SELECT oid FROM pg_roles UNION SELECT 0"
        orphans = f"SELECT count(*) FROM pgboost_catalog.privilege WHERE role NOT IN ({roles})"
        assert one(admin, orphans) == 0
        assert value(admin, "owned") == 5
    with cluster.connect(source) as admin:
        admin.execute("SELECT drop_model('owned')")


def test_a_large_model_is_dumped(cluster: Cluster, connect: Connect) -> None:
    content = grown(620, 9)
    assert len(content) > LARGE_BYTES
    cluster.create_database("dump_large", replace=True)
    with cluster.connect("dump_large") as connection:
        connection.execute("CREATE EXTENSION pgboost")
        assert load(connection, "large", content) == 1
        expected = one(connection, f"SELECT predict_margin('large', {ROW})")
    with cluster.connect(restored(cluster, "dump_large", "dump_larger")) as connection:
        assert one(connection, f"SELECT predict_margin('large', {ROW})") == expected
        assert bytes(one(connection, "SELECT export_model('large')")) == content


def pinned(cluster: Cluster, schema: str, generated: bool, table: str = "public.a_table") -> str:
    """The name of a new database with a pinned version and a table that depends on it."""
    database = "dump_pinned"
    cluster.create_database(database, replace=True)
    with cluster.connect(database) as connection:
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}; CREATE SCHEMA app")
        connection.execute(f"CREATE EXTENSION pgboost SCHEMA {schema}")
        connection.execute(f"SET search_path = {schema}, public")
        load(connection, "m", grown(20, 5))
        connection.execute("SELECT pin_model('m@1'), set_alias('m@1', 'champion')")
        call = f"{schema}.{SCORE}"
        score = f", score real GENERATED ALWAYS AS ({call}) STORED" if generated else ""
        connection.execute(f"CREATE TABLE {table} (a real{score})")
        rows = "SELECT i / 100.0 FROM generate_series(1, 500) AS i"
        connection.execute(f"INSERT INTO {table} {rows}")
        connection.execute(f"CREATE INDEX by_score ON {table} (({call}))")
    return database


def scores(cluster: Cluster, database: str, table: str = "public.a_table") -> list[tuple]:
    """The rows, their scores by the index, and that the version is still guarded."""
    with cluster.connect(database) as connection:
        connection.execute(f"SET search_path = {one(connection, SCHEMA)}, public")
        connection.execute("SET enable_seqscan = off")
        for call in ("unpin_model('m@1')", "drop_model('m')"):
            with pytest.raises(errors.ObjectInUse):
                connection.execute(f"SELECT {call}")
        query = f"SELECT t.*, {SCORE} FROM {table} AS t ORDER BY {SCORE}, a"
        assert "by_score" in plan_of(connection, query)
        aliases = connection.execute("SELECT * FROM pgboost_aliases").fetchall()
        return aliases + connection.execute(query).fetchall()


# In parallel section by section: otherwise an index may be built before the models are restored.
@pytest.mark.parametrize(
    ("way", "schema", "generated"),
    [
        *((way, "public", False) for way in ("plain", "archive", "sections")),
        *(("plain", schema, True) for schema in ("public", "zoo")),
    ],
)
def test_dependents_of_a_pinned_version_are_restored(
    cluster: Cluster, tmp_path: Path, way: str, schema: str, generated: bool
) -> None:
    database = pinned(cluster, schema, generated)
    before = scores(cluster, database)
    assert len(before) > 500
    assert scores(cluster, moved(cluster, database, way, tmp_path)) == before


def test_a_dump_keeps_which_numbers_were_pinned(cluster: Cluster) -> None:
    """Also the numbers of dropped models, whose stored results must never become another model's."""
    database = pinned(cluster, "public", generated=False)
    with cluster.connect(database) as connection:
        connection.execute("DROP TABLE a_table")
        connection.execute("SELECT unpin_model('m@1'), drop_model('m')")
    with cluster.connect(restored(cluster, database, "moved")) as connection:
        assert load(connection, "m", grown(20, 5)) == 2
        assert load(connection, "other", grown(20, 5)) == 1


def test_a_generated_column_of_an_earlier_schema_needs_the_models_first(
    cluster: Cluster, tmp_path: Path
) -> None:
    """pg_dump writes app.a_table before pgboost_catalog.model, as the SQL reference says."""
    table, target = "app.a_table", "moved"
    database = pinned(cluster, "public", generated=True, table=table)
    with pytest.raises(AssertionError, match='model "m" does not exist'):
        restored(cluster, database, target)
    cluster.create_database(target, replace=True)
    archive, models, others = (tmp_path / name for name in ("archive", "models", "others"))
    run(cluster, database, "pg_dump", "--format=custom", "--file", archive)
    listed = run(cluster, target, "pg_restore", "--list", archive).decode().splitlines()
    data = [line for line in listed if " TABLE DATA " in line]
    models.write_text("\n".join(line for line in data if " pgboost_catalog " in line))
    others.write_text("\n".join(line for line in data if " pgboost_catalog " not in line))
    steps = [
        "--section=pre-data",
        f"--use-list={models}",
        f"--use-list={others}",
        "--section=post-data",
    ]
    for step in steps:
        run(cluster, target, "pg_restore", step, "-d", target, archive)
    assert scores(cluster, target, table) == scores(cluster, database, table)
