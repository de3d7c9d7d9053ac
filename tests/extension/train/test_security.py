"""Texts that would be SQL, options or paths stay data, and SECURITY.md's table of privileges holds.

A role of each kind tries each cell of the table.
"""

import itertools
import json
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import Connection, errors, sql

from tests.connections import Connect
from tests.extension.lifecycle.models import constant
from tests.extension.train.running import ENDLESS, TRAIN, Running, seen
from tools.cluster import Cluster

DROP = "DROP TABLE canary"
QUOTES = ["'", '"', "''", "$$", "$x$", "\\'", "\u2019", "`"]
ENDINGS = ["; {} --", "); {}; --", " UNION SELECT 1; {}", "\n; {}; /*", " || ({}) || "]
PATHS = [
    "../../../etc/passwd", "/etc/passwd", "file:///etc/passwd", "hdfs://127.0.0.1/x", "|touch x",
    "$(touch x)", "%s%n", "{0}", "${HOME}", "x\ty", "pg_catalog.pg_class", "a.b.c", "a@b", "@1", "x@1",
    "Y", "y ",
]  # fmt: skip
TEXTS = [quote + end.format(DROP) for quote, end in itertools.product(QUOTES, ENDINGS)] + PATHS
USERS_FAULTS = ("0A", "22", "42", "54", "55")

CALLS = {
    "predict": "SELECT predict(%(text)s, 1)",
    "deploy": "SELECT deploy_model(%(text)s, 1)",
    "grant to": "SELECT grant_model('kept', %(text)s)",
    "describe": "SELECT model_info(%(text)s)",
    "source": "SELECT * FROM train_model('t', %(text)s, 'y', rounds => 1)",
    "target": "SELECT * FROM train_model('t', 'canary', %(text)s, rounds => 1)",
    "features": "SELECT * FROM train_model('t', 'canary', 'y', features => ARRAY[%(text)s], rounds => 1)",
    "weight": "SELECT * FROM train_model('t', 'canary', 'y', weight => %(text)s, rounds => 1)",
    "group": "SELECT * FROM train_model('t', 'canary', 'y', qid => %(text)s, rounds => 1)",
    "until": "SELECT * FROM train_model('t', 'canary', 'y', label_upper_bound => %(text)s, rounds => 1)",
    "parameter": "SELECT * FROM train_model('t', 'canary', 'y', %(key)s::jsonb, rounds => 1)",
    "its value": "SELECT * FROM train_model('t', 'canary', 'y', %(value)s::jsonb, rounds => 1)",
    "file": "SELECT load_model('f', convert_to(%(text)s, 'UTF8'))",
    "object": "SELECT predict('kept', %(key)s::jsonb)",
}  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def canary(cluster: Cluster, dbname: str) -> None:
    """A table that any of the texts would drop, and a model."""
    with cluster.connect(dbname) as connection:
        connection.execute(
            "CREATE TABLE canary AS SELECT i AS a, i AS y FROM generate_series(1, 50) AS i"
        )
        connection.execute("SELECT load_model('kept', %s)", (constant(1),))


def assert_alive(connection: Connection) -> None:
    assert connection.execute("SELECT count(*) FROM canary").fetchone() == (50,)


@pytest.mark.parametrize("call", CALLS)
def test_a_text_is_refused_as_one(connection: Connection, call: str) -> None:
    for text in TEXTS:
        given = {
            "text": text,
            "key": json.dumps({text: 1}),
            "value": json.dumps({"objective": text}),
        }
        with pytest.raises(psycopg.Error) as caught:
            connection.execute(CALLS[call], given).fetchall()
        assert caught.value.sqlstate[:2] in USERS_FAULTS, (text, caught.value)
    assert_alive(connection)


def test_a_text_may_name_a_model_and_columns(connection: Connection) -> None:
    named = 0
    for text in TEXTS:
        column = sql.Identifier(text)
        connection.execute(
            sql.SQL("CREATE TABLE odd AS SELECT a AS {}, y FROM canary").format(column)
        )
        try:
            connection.execute("SELECT * FROM train_model(%s, 'odd', 'y', rounds => 1)", (text,))
            predicted = sql.SQL("SELECT count(predict({}, odd)) FROM odd").format(sql.Literal(text))
            assert connection.execute(predicted).fetchone() == (50,)
            connection.execute("SELECT drop_model(%s)", (text,))
            named += 1
        except psycopg.Error as error:
            assert error.sqlstate == "42602", (text, error)
        connection.execute("DROP TABLE odd")
    assert named > len(TEXTS) // 2
    assert_alive(connection)


PAGE = Path(__file__).resolve().parents[3] / "SECURITY.md"
ROLES = ("stranger", "monitor", "grantee", "inspector", "loader", "trainer", "owner")
ROW = "SELECT g::real AS f1, g AS y FROM generate_series(1, 9) AS g"
TRAINING = f"'{ROW}', 'y'"
# The statements of each line; they fail with 42501, or return no row, where they are not allowed.
STATEMENTS = {
    "predict, explain predictions, `predict_pinned`": [
        *[
            f"SELECT {function}('m', 1)"
            for function in (
                "predict", "predict_array", "predict_margin", "predict_leaf", "predict_contribs",
                "predict_interactions",
            )
        ],
        "SELECT predict_pinned('m@1', 1)", "SELECT predict_from('m', 0, 1)",
        "SELECT predict_batch('m', ARRAY[[1]])",
        "SELECT explain_prediction('m', ARRAY[1])",
    ],
    "`model_info`, `model_features`, `feature_importance`": [
        "SELECT model_info('m')", "SELECT model_features('m')", "SELECT feature_importance('m')",
    ],
    "categories and attributes in these": [
        "SELECT FROM model_features('m') WHERE categories IS NOT NULL",
        "SELECT FROM model_info('m') AS info WHERE info ->> 'categories' IS NOT NULL",
        "SELECT FROM model_info('m') AS info WHERE info ->> 'attributes' IS NOT NULL",
    ],
    "`evaluate_model`, `compare_models`, `partial_dependence`, `permutation_importance`": [
        f"SELECT evaluate_model('m', {TRAINING})", f"SELECT compare_models('m', 'm', {TRAINING})",
        f"SELECT partial_dependence('m', '{ROW}', 'f1')",
        f"SELECT permutation_importance('m', {TRAINING})",
    ],
    "`feature_baseline`, `feature_drift`": [
        "SELECT feature_baseline('m')", f"SELECT feature_drift('m', '{ROW}')",
    ],
    "a line in `pgboost_models`, `pgboost_aliases`, `pgboost_deployments`": [
        "SELECT FROM pgboost_models WHERE name = 'm'", "SELECT FROM pgboost_aliases WHERE name = 'm'",
        "SELECT FROM pgboost_deployments WHERE name = 'm'",
    ],
    "a line in `pg_stat_pgboost`": ["SELECT FROM pg_stat_pgboost WHERE name = 'm'"],
    "`outside_rows` in it": [
        "SELECT FROM pg_stat_pgboost WHERE name = 'm' AND outside_rows IS NOT NULL"
    ],
    "others' lines in `pg_stat_progress_train_model`": [
        "SELECT FROM pg_stat_progress_train_model WHERE usename = 'postgres' AND model = 'long'"
    ],
    "`pg_stat_pgboost_reset`": ["SELECT pg_stat_pgboost_reset()"],
    "`export_model`, `export_model_sql`, `verify_model`, `xgboost_predict`": [
        "SELECT export_model('m')", "SELECT export_model_sql('m')", f"SELECT verify_model('n', '{ROW}')",
        "SELECT xgboost_predict('n', '{1}')",
    ],
    "`grant_model`, `revoke_model`, `rename_model`, `set_model_owner`": [
        "SELECT grant_model('m', 'public')", "SELECT grant_model('m', 'public', 'inspect')",
        "SELECT revoke_model('m', 'public')", "SELECT rename_model('n', 'other')",
        "SELECT set_model_owner('m', current_user)",
    ],
    "`deploy_model`, `rollback_model`, `set_model_comment`, `set_alias`, `drop_alias`, `pin_model`, "
    "`unpin_model`, `drop_model`": [
        "SELECT deploy_model('m@1')", "SELECT rollback_model('n')", "SELECT set_model_comment('m', 'x')",
        "SELECT set_alias('m@1', 'champion')",
        "SELECT drop_alias('m@first')", "SELECT pin_model('m@1')", "SELECT unpin_model('m@1')",
        "SELECT drop_model('n')",
    ],
    "`set_baseline`, `set_unknown_category`": [
        f"SELECT set_baseline('m', '{ROW}')", "SELECT set_unknown_category('m', 'error')",
    ],
    "`create_predict_function`, in an own schema": [
        "SELECT create_predict_function('n', schema => current_user::text)"
    ],
    "`maintain_scores`, `drop_scores`, in an own table": [
        "SELECT maintain_scores(current_user || '.scored', 'n'), drop_scores(current_user || '.scored')"
    ],
    "a new version by `load_model`": ["SELECT load_model('m', (SELECT file FROM files))"],
    "a new model by `load_model`": ["SELECT load_model('new', (SELECT file FROM files))"],
    "a new model by `train_model`; `cross_validate_model`, `tune_model`": [
        f"SELECT train_model('new', {TRAINING}, rounds => 1)",
        f"SELECT cross_validate_model({TRAINING}, rounds => 1, folds => 2)",
        f"SELECT tune_model({TRAINING}, search => '{{\"eta\": [0.1]}}', rounds => 1, folds => 2)",
    ],
    "the registry's tables": ["SELECT FROM pgboost_catalog.model"],
}  # fmt: skip
# Those that anybody may call, since they are of no model or need a model of several classes.
OTHERS = {
    "pgboost_maintain_score", "pgboost_scores", "predict_class", "predict_proba", "xgboost_version",
}  # fmt: skip


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
            admin.execute(f"CREATE SCHEMA page_{role} AUTHORIZATION page_{role}")
            admin.execute(f"CREATE TABLE page_{role}.scored (f1 real)")
            admin.execute(f"ALTER TABLE page_{role}.scored OWNER TO page_{role}")
        admin.execute("GRANT pg_read_all_stats TO page_monitor")
        admin.execute("""GRANT EXECUTE ON FUNCTION load_model, deploy_model, drop_model, set_alias,
                             drop_alias, pin_model, unpin_model, create_predict_function,
                             rollback_model, set_model_comment
                             TO page_loader, page_trainer, page_owner""")
        admin.execute(
            "GRANT EXECUTE ON FUNCTION train_model, cross_validate_model, tune_model TO page_trainer"
        )
        admin.execute("CREATE TABLE files (file bytea); GRANT SELECT ON files TO PUBLIC")
        admin.execute("INSERT INTO files VALUES (%s)", (constant(1),))
        admin.execute("SET ROLE page_owner")
        admin.execute(
            "SELECT load_model('m', (SELECT file FROM files),"
            " categories => '{\"f1\": [1, 2, 3, 4, 5, 6, 7, 8, 9]}'),"
            " load_model('n', (SELECT file FROM files)), load_model('n', (SELECT file FROM files))"
        )
        admin.execute("SELECT pin_model('m@1'), set_alias('m@1', 'first')")
        admin.execute(f"SELECT set_baseline('m', '{ROW}')")
        admin.execute("SELECT grant_model(m, 'page_grantee') FROM unnest('{m,n}'::text[]) AS m")
        admin.execute(
            "SELECT grant_model(m, 'page_inspector', 'inspect') FROM unnest('{m,n}'::text[]) AS m"
        )
        admin.execute("RESET ROLE")
        yield
        admin.execute(
            "SELECT unpin_model('m@1'), drop_model('m'), drop_model('n'); DROP TABLE files"
        )
        for role in ROLES:
            admin.execute(f"DROP OWNED BY page_{role}; DROP ROLE page_{role}")


@pytest.fixture(scope="module")
def training(cluster: Cluster, dbname: str) -> Iterator[None]:
    """A training of the superuser's that is running."""
    with cluster.connect(dbname) as admin, cluster.connect(dbname) as watcher:
        running = Running(admin, ENDLESS, statement=TRAIN)
        seen(watcher, running.pid, "reading rows")
        yield
        watcher.execute("SELECT pg_cancel_backend(%s)", (running.pid,))
        assert running.ended() == "57014"


@pytest.mark.usefixtures("roles", "training")
@pytest.mark.parametrize(("line", "role", "allowed"), table())
def test_roles_can_do_as_the_table_says(
    connect: Connect, line: str, role: str, allowed: str
) -> None:
    connection = connect(user=f"page_{role}", autocommit=False)
    done = set()
    for statement in STATEMENTS[line]:
        try:
            done.add("yes" if connection.execute(statement).fetchone() is not None else "no")
        except errors.InsufficientPrivilege:
            done.add("no")
        connection.rollback()
    assert done == {allowed}


def test_the_table_has_every_function(connection: Connection) -> None:
    """The table also has every view, so that a new one cannot be forgotten."""
    member = "EXISTS (SELECT FROM pg_depend WHERE objid = o.oid AND deptype = 'e')"
    found = connection.execute(
        "SELECT proname FROM pg_proc AS o WHERE pronamespace = 'public'::regnamespace AND prokind = 'f' "
        f"AND {member} UNION "
        f"SELECT relname FROM pg_class AS o WHERE relnamespace = 'public'::regnamespace AND {member}"
    ).fetchall()
    tried = " ".join(statement for statements in STATEMENTS.values() for statement in statements)
    names = {name for (name,) in found}
    assert len(names) > 30
    assert {name for name in names if name not in tried} == OTHERS
