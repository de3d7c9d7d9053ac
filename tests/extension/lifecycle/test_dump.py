"""Models move with pg_dump: into another database, and into a cluster without their roles."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from psycopg import errors

from tests.connections import Connect
from tests.extension.lifecycle.client_programs import psql, restored, run
from tests.extension.lifecycle.models import ROW, constant, grown, load, load_doubles, one, value
from tools.cluster import Cluster
from tools.cluster.server import bin_directory

LARGE_BYTES = 30_000_000


@pytest.fixture(scope="module", autouse=True)
def roles(cluster: Cluster) -> Iterator[None]:
    """An owner, a user and a loader; all are there for most of the tests."""
    with cluster.connect() as connection:
        for role in ("dump_owner", "dump_user", "dump_loader"):
            connection.execute(f"CREATE ROLE {role} LOGIN")
    yield
    with cluster.connect() as connection:
        databases = connection.execute("SELECT datname FROM pg_database WHERE datallowconn")
        for (database,) in databases.fetchall():
            with cluster.connect(database) as inside:
                for role in ("dump_owner", "dump_user", "dump_loader"):
                    inside.execute(f"DROP OWNED BY {role}")
        for role in ("dump_owner", "dump_user", "dump_loader"):
            connection.execute(f"DROP ROLE {role}")


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


def facts(cluster: Cluster, database: str) -> list[tuple]:
    """The registry's content, and the answer of each version."""
    query = """
        SELECT name, version, deployed, owner::text, objective, features, trees, size, loaded_by,
               loaded_at, model_info(name || '@' || version) ->> 'sha256',
               model_info(name || '@' || version) ->> 'real_input',
               model_info(name || '@' || version) ->> 'unknown_category',
               CASE WHEN features = 1 THEN predict_margin(name || '@' || version, 0.1::real)
                    ELSE predict_margin(name || '@' || version, %s) END,
               (SELECT jsonb_agg(p) FROM feature_baseline(name || '@' || version) AS p)
          FROM pgboost_models ORDER BY name, version""".replace("%s", ROW)
    rights = "SELECT model, role::text, privilege FROM pgboost_catalog.privilege ORDER BY 1, 2, 3"
    aliases = "SELECT name, alias, version, predict(name || '@' || alias, 1) FROM pgboost_aliases"
    deployments = "SELECT d, comment FROM pgboost_deployments AS d ORDER BY name, number"
    functions = """
        SELECT p.oid::regprocedure::text, a.grantee::regrole::text, a.privilege_type
          FROM pg_proc AS p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) AS a
         WHERE p.oid IN (SELECT objid FROM pg_depend AS d JOIN pg_extension AS e ON e.oid = refobjid
                          WHERE e.extname = 'pgboost' AND d.deptype = 'e') ORDER BY 1, 2, 3"""
    with cluster.connect(database) as connection:
        return [
            row
            for part in (query, rights, aliases, deployments, functions)
            for row in connection.execute(part).fetchall()
        ]


def test_plain_dump_restores_everything(cluster: Cluster, source: str) -> None:
    before = facts(cluster, source)
    assert len(before) > 20
    assert facts(cluster, restored(cluster, source, "dump_plain")) == before


def test_a_function_of_a_model_is_restored_and_goes_with_it(cluster: Cluster, source: str) -> None:
    with cluster.connect(restored(cluster, source, "dump_function")) as connection:
        assert one(connection, "SELECT best_of_m(1)") == 3
        connection.execute("SELECT drop_model('m')")
        assert one(connection, "SELECT to_regproc('best_of_m') IS NULL")


@pytest.mark.parametrize("jobs", [1, 2])
def test_custom_dump_restores_everything(
    cluster: Cluster, source: str, tmp_path: Path, jobs: int
) -> None:
    cluster.create_database("dump_custom", replace=True)
    archive = tmp_path / "archive"
    run(cluster, source, "pg_dump", "--format=custom", "--file", archive)
    run(cluster, "dump_custom", "pg_restore", f"--jobs={jobs}", "-d", "dump_custom", archive)
    assert facts(cluster, "dump_custom") == facts(cluster, source)


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
    content = grown(620, 9, seed=3)
    assert len(content) > LARGE_BYTES
    cluster.create_database("dump_large", replace=True)
    with cluster.connect("dump_large") as connection:
        connection.execute("CREATE EXTENSION pgboost")
        assert load(connection, "large", content) == 1
        expected = one(connection, f"SELECT predict_margin('large', {ROW})")
    with cluster.connect(restored(cluster, "dump_large", "dump_larger")) as connection:
        assert one(connection, f"SELECT predict_margin('large', {ROW})") == expected
        assert bytes(one(connection, "SELECT export_model('large')")) == content
