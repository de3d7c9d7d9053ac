"""SECURITY.md's table of who can do what with a model: a role of each kind tries each cell."""

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.connections import Connect
from tests.extension.lifecycle.models import constant
from tests.extension.train.running import ENDLESS, TRAIN, Running, seen
from tools.cluster import Cluster

PAGE = Path(__file__).resolve().parents[3] / "SECURITY.md"
ROLES = ("stranger", "monitor", "grantee", "loader", "trainer", "owner")
ROW = "SELECT g::real AS f1, g AS y FROM generate_series(1, 9) AS g"
# What each line means: a statement that fails with 42501, or returns no row, where it is not allowed.
STATEMENTS = {
    "predict, and explain predictions": (
        "SELECT predict('m', 1), predict_contribs('m', 1), explain_prediction('m', ARRAY[1])"
    ),
    "`model_info`, `model_features`, `feature_importance`": (
        "SELECT model_info('m'), model_features('m'), feature_importance('m')"
    ),
    "`evaluate_model`, `feature_drift`": f"SELECT evaluate_model('m', '{ROW}', 'y')",
    "a line in `pgboost_models`": "SELECT FROM pgboost_models WHERE name = 'm'",
    "a line in `pg_stat_pgboost`": "SELECT FROM pg_stat_pgboost WHERE name = 'm'",
    "others' lines in `pg_stat_progress_train_model`": (
        "SELECT FROM pg_stat_progress_train_model WHERE usename = 'postgres' AND model = 'long'"
    ),
    "`export_model`, `verify_model`": f"SELECT export_model('m'), verify_model('m', '{ROW}')",
    "`grant_model`, `revoke_model`, `rename_model`, `set_model_owner`": (
        "SELECT grant_model('m', 'public'), revoke_model('m', 'public'), rename_model('m', 'other')"
    ),
    "`deploy_model`, `set_alias`, `pin_model`, `drop_model`": (
        "SELECT deploy_model('m@1'), set_alias('m@1', 'champion'), drop_alias('m@champion'), drop_model('m')"
    ),
    "a new version by `load_model`": "SELECT load_model('m', (SELECT file FROM files))",
    "a new model by `load_model`": "SELECT load_model('new', (SELECT file FROM files))",
    "a new model by `train_model`": f"SELECT train_model('new', '{ROW}', 'y', rounds => 1)",
    "the registry's tables": "SELECT FROM pgboost_catalog.model",
}


def table() -> list[tuple[str, str, str]]:
    """Line, role, and yes or no, of each cell of the page's table."""
    lines = [
        [cell.strip() for cell in line.strip().strip("|").split("|")]
        for line in PAGE.read_text().splitlines()
    ]
    head = next(at for at, line in enumerate(lines) if line[1:] == list(ROLES))
    cells = []
    for line in lines[head + 2 :]:
        if len(line) != len(ROLES) + 1:
            break
        cells += [(line[0], role, cell) for role, cell in zip(ROLES, line[1:], strict=True)]
    return cells


def test_the_table_has_every_line() -> None:
    assert {line for line, _, _ in table()} == set(STATEMENTS)


@pytest.fixture(scope="module")
def roles(cluster: Cluster, dbname: str) -> Iterator[None]:
    """A role of each kind, and a model whose owner granted it to one of them."""
    with cluster.connect(dbname) as admin:
        for role in ROLES:
            admin.execute(f"CREATE ROLE page_{role} LOGIN")
        admin.execute("GRANT pg_read_all_stats TO page_monitor")
        admin.execute("""GRANT EXECUTE ON FUNCTION load_model, deploy_model, drop_model, set_alias,
                             drop_alias, pin_model TO page_loader, page_trainer, page_owner""")
        admin.execute("GRANT EXECUTE ON FUNCTION train_model TO page_trainer")
        admin.execute("CREATE TABLE files (file bytea); GRANT SELECT ON files TO PUBLIC")
        admin.execute("INSERT INTO files VALUES (%s)", (constant(1),))
        admin.execute("SET ROLE page_owner")
        admin.execute("SELECT load_model('m', (SELECT file FROM files))")
        admin.execute("SELECT grant_model('m', 'page_grantee')")
        admin.execute("RESET ROLE")
        yield
        admin.execute("SELECT drop_model('m'); DROP TABLE files")
        for role in ROLES:
            admin.execute(f"DROP OWNED BY page_{role}; DROP ROLE page_{role}")


@pytest.fixture(scope="module")
def training(cluster: Cluster, dbname: str) -> Iterator[None]:
    """A training of the superuser's that is running."""
    with cluster.connect(dbname) as admin, cluster.connect(dbname) as watcher:
        running = Running(admin, ENDLESS, statement=TRAIN)
        with seen(watcher, running.pid, "reading rows"):
            yield
        watcher.execute("SELECT pg_cancel_backend(%s)", (running.pid,))
        assert running.ended() == "57014"


@pytest.mark.usefixtures("roles", "training")
@pytest.mark.parametrize(("line", "role", "allowed"), table())
def test_a_role_can_do_what_the_table_says(
    connect: Connect, line: str, role: str, allowed: str
) -> None:
    connection = connect(user=f"page_{role}", autocommit=False)
    try:
        done = "yes" if connection.execute(STATEMENTS[line]).fetchone() is not None else "no"
    except psycopg.errors.InsufficientPrivilege:
        done = "no"
    connection.rollback()
    assert done == allowed
