"""Statements that fail or wait in the middle, at places that a session names.

After an error or a panic nothing is leaked, and the session goes on; while one session waits, another changes
the model. The places are those of extension/pg_interface/src/fault.rs, in libraries built for these tests
alone, which the server finds first in dynamic_library_path.
"""

import os
import re
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from tests.connections import waits
from tests.extension.lifecycle.conftest import PREFERRED_PORT, unfinished
from tests.extension.lifecycle.models import constant, grown, load, one, value
from tests.extension.lifecycle.test_memory import descriptors, private_kb
from tests.extension.train.running import trainers
from tests.state import TIMES
from tools.cluster import Cluster, start, stop
from tools.cluster.server import installed

ROOT = Path(__file__).resolve().parents[3]
STATE = ROOT / ".test" / "faults"
BUILT = ROOT / ".build" / "faults"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A server with the libraries that fail, three models, rows, and a file of two parts."""
    variables = os.environ | {"PGBOOST_FAULTS": "1"}
    subprocess.run(["tools/toolchain/build.sh"], cwd=ROOT, env=variables, check=True)
    libraries = _libraries()
    stop(STATE, delete=True)
    running, _ = start(
        STATE, PREFERRED_PORT, {"dynamic_library_path": f"{libraries}:$libdir", "jit": "off"}
    )
    with running.connect() as connection:
        connection.execute("CREATE EXTENSION pgboost_train CASCADE")
        for seed, name in enumerate(("m", "m", "unseen")):
            load(connection, name, grown(30, 6, seed=seed))
        connection.execute("CREATE TABLE file (content bytea)")
        connection.execute("INSERT INTO file VALUES (%s)", (grown(400, 8, seed=2),))
        values = ", ".join(f"random()::real AS f{i + 1}" for i in range(10))
        connection.execute(f"CREATE TABLE rows AS SELECT {values} FROM generate_series(1, 2000)")
        connection.execute("CREATE TABLE behind AS SELECT 1 AS version")
        connection.execute(
            "CREATE TABLE kept (f1 real); CREATE TRIGGER kept BEFORE INSERT ON kept FOR EACH ROW"
            " EXECUTE FUNCTION pgboost_maintain_score('a', 'b', 'c', 'd')"
        )
        load(connection, "classes", _classes())
        connection.execute("SELECT set_alias('m@2', 'best')")
        connection.execute("SELECT set_baseline('m', 'rows')")
    yield running
    stop(STATE, delete=True)


def _classes() -> bytes:
    content = grown(30, 6).replace(b"reg:squarederror", b"binary:logistic")
    return content.replace(b'"base_score": "0E0"', b'"base_score": "5E-1"')


def _libraries() -> Path:
    """A folder like PostgreSQL's, with the libraries and the files next to them."""
    folder = BUILT / "libraries"
    folder.mkdir(exist_ok=True)
    found = {
        f"{name}.so": BUILT / "release" / f"lib{name}.so" for name in ("pgboost", "pgboost_train")
    }
    for name, target in (
        found | {"pgboost_train": installed("--pkglibdir") / "pgboost_train"}
    ).items():
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(target)
    return folder


KINDS = {"error": "58030", "postgres": "3F000", "panic": "XX000"}
COLUMNS = ", ".join(f"f{i + 1}" for i in range(10))
ONES = ", ".join("1" * 10)
SOURCE = "'SELECT *, f1 AS y, (f1 > 0.5)::int AS class FROM rows'"
SEARCH = """'{"max_depth": [2, 3]}'"""
# Each place, with a statement that comes by.
CASES = [
    ("load: parsed", "SELECT load_model('new', content) FROM file"),
    ("load: part stored", "SELECT load_model('new', content) FROM file"),
    ("load: stored", "SELECT load_model('new', content) FROM file"),
    ("image: not renamed", "SELECT load_model('new', content) FROM file"),
    ("image: opened", f"SELECT predict('unseen', {COLUMNS}) FROM rows"),
    ("batch: scored", f"SELECT sum(predict('m', {COLUMNS})) FROM rows"),
    ("batch: scored", f"SELECT sum(predict('m', rows)), max(predict_margin('m', {COLUMNS})) FROM rows"),
    ("training: rows read", "SELECT * FROM train_model('new', 'rows', 'f1', rounds => 3)"),
    ("training: built", "SELECT * FROM train_model('new', 'rows', 'f1', rounds => 3)"),
    ("training: round", "SELECT * FROM train_model('new', 'rows', 'f1', rounds => 3)"),
    ("training: round", "SELECT * FROM cross_validate_model('rows', 'f1', rounds => 3)"),
    ("load: stored", "SELECT * FROM train_model('new', 'rows', 'f1', rounds => 3)"),
    *[("registry: written", call) for call in (
        "SELECT load_model('new', content) FROM file", "SELECT load_model('m', content) FROM file",
        "SELECT drop_model('m')", "SELECT drop_model('m@1')", "SELECT grant_model('m', 'public')",
        "SELECT revoke_model('m', 'public')", "SELECT rename_model('m', 'renamed')",
        "SELECT set_model_owner('m', 'postgres')", "SELECT set_model_comment('m', 'x')",
        "SELECT rollback_model('m')", "SELECT set_unknown_category('m', 'missing')",
    )],
    ("registry: asked", "SELECT deploy_model('m@1')"),
    ("registry: asked", "SELECT set_alias('m@1', 'best')"),
    *[("registry: opened", call) for call in (
        "SELECT deploy_model('m@1')", "SELECT export_model('m')", "SELECT export_model_sql('m')",
        "SELECT model_info('m')",
        "SELECT model_features('m')", "SELECT feature_importance('m')", "SELECT pin_model('m@1')",
        "SELECT create_predict_function('m', 'of_m')", "SELECT drop_alias('m@best')",
        "SELECT unpin_model('m@1')", "SELECT set_baseline('m', '[]')", "SELECT feature_baseline('m')",
        "SELECT pgboost_catalog.statistics(id, 1) FROM pgboost_catalog.model",
        "SELECT maintain_scores('rows', 'm')", "SELECT pgboost_catalog.check_storable('m')",
        "SELECT pgboost_catalog.may_predict(id) FROM pgboost_catalog.model",
        "SELECT pgboost_catalog.owner(id) FROM pgboost_catalog.model",
    )],
    ("query: run", "SELECT pgboost_catalog.rows_behind('behind', 1::smallint, 2)"),
    *[("source: row", f"SELECT {call}") for call in (
        f"evaluate_model('m', {SOURCE}, 'y')", f"compare_models('m', 'unseen', {SOURCE}, 'y')",
        f"partial_dependence('m', {SOURCE}, 'f1')", f"permutation_importance('m', {SOURCE}, 'y')",
        "set_baseline('m', 'rows')", "feature_drift('m', 'rows')", "verify_model('m', 'rows')",
        "train_model('new', 'rows', 'f1', rounds => 3)", f"tune_model('rows', 'f1', {SEARCH}, rounds => 3)",
    )],
    ("training: round", f"SELECT tune_model('rows', 'f1', {SEARCH}, rounds => 3)"),
    ("xgboost: asked", "SELECT xgboost_version()"),
    ("xgboost: predicted", f"SELECT xgboost_predict('m', ARRAY[{COLUMNS}]) FROM rows"),
    ("xgboost: predicted", "SELECT verify_model('m', 'rows')"),
    ("progress: asked", "SELECT pgboost_catalog.progress_records()"),
    ("statistics: reset", "SELECT pg_stat_pgboost_reset()"),
    *[("function: called", call) for call in (
        "SELECT explain_prediction('m', rows) FROM rows LIMIT 1",
    )],
    # Without a table there is no batch.
    *[(f"called: pgboost_{function}", f"SELECT {function}({arguments}, {ONES})") for function, arguments in (
        ("predict", "'m'"), ("predict_array", "'m'"), ("predict_class", "'m'"), ("predict_margin", "'m'"),
        ("predict_pinned", "'m@1'"), ("predict_from", "'m', 1"), ("predict_proba", "'m'"),
        ("predict_leaf", "'m'"), ("predict_contribs", "'m'"),
        ("predict_interactions", "'m'"),
    )],
    ("called: pgboost_predict_batch", f"SELECT predict_batch('m', ARRAY[ARRAY[{COLUMNS}]]) FROM rows"),
    ("called: pgboost_batch_support", f"SELECT predict_batch('m', ARRAY[ARRAY[{COLUMNS}]]) FROM rows"),
    ("called: pgboost_predict_support", f"SELECT predict('m', {COLUMNS}) FROM rows"),
    ("called: pgboost_pinned_support", f"SELECT predict_pinned('m@1', {COLUMNS}) FROM rows"),
    ("called: pgboost_explain_support", f"SELECT predict_contribs('m', {COLUMNS}) FROM rows"),
    ("called: pgboost_contribs_add", "SELECT mean_abs_contribs(ARRAY[f1, f2]) FROM rows"),
    ("called: pgboost_contribs_mean", "SELECT mean_abs_contribs(ARRAY[f1, f2]) FROM rows"),
    ("called: pgboost_contribs_combine", "SELECT pgboost_catalog.contribs_combine('{}', '{}')"),
    *[(f"called: pgboost_{name}", f"SELECT {call} FROM rows") for name, call in (
        ("rmse", "rmse(f1, f2)"), ("mse", "mse(f1, f2)"), ("mae", "mae(f1, f2)"), ("mape", "mape(f1, f2)"),
        ("r2", "r2(f1, f2)"), ("error_add", "rmse(f1, f2)"), ("probability_add", "logloss(0.5, 1)"),
        ("probability_add_boolean", "brier(0.5, f1 > 0)"),
        ("probabilities_add", "mlogloss('{0.5,0.5}'::real[], 1)"), ("class_add", "accuracy(f1, f2)"),
        ("first_mean", "logloss(0.5, 1)"), ("second_mean", "brier(0.5, 1)"), ("score_add", "auc(f1, 1)"),
        ("score_add_boolean", "auc(f1, f2 > 0)"), ("auc", "auc(f1, f2 > 0)"), ("aucpr", "aucpr(f1, 1)"),
    )],
    ("called: pgboost_error_combine", "SELECT pgboost_catalog.error_combine('{}', '{}')"),
    ("called: pgboost_mean_combine", "SELECT pgboost_catalog.mean_combine('{}', '{}')"),
    ("called: pgboost_maintain_score", "INSERT INTO kept VALUES (1) RETURNING f1"),
    ("called: pgboost_registry_changed", "SELECT drop_model('m@1')"),
    ("called: pgboost_privilege_changed", "SELECT grant_model('m', 'public')"),
]  # fmt: skip
ANSWER = f"SELECT sum(predict('m', {COLUMNS})::numeric) FROM rows"
# Rounds that fill the caches kept for later statements, and rounds that must not add to them.
BEFORE, AFTER = 20, 100 * TIMES
MOST_GROWTH_KB = 1024
TRIES = 3
MAX_ROUNDS = 8


@dataclass(frozen=True)
class Held:
    """A connection's resources between two statements, and the files on the disk."""

    contexts: list[tuple[str, int]]
    locks: int
    descriptors: int
    files: list[Path]
    models: list[tuple[str, int, bool]]

    @classmethod
    def by(cls, connection: psycopg.Connection, data: Path) -> "Held":
        contexts = "SELECT name, count(*) FROM pg_backend_memory_contexts GROUP BY 1 ORDER BY 1"
        models = "SELECT name, version, deployed FROM pgboost_models ORDER BY 1, 2"
        return cls(
            connection.execute(contexts).fetchall(),
            one(connection, "SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid()"),
            descriptors(connection),
            unfinished(data),
            connection.execute(models).fetchall(),
        )


def fail(connection: psycopg.Connection, place: str, kind: str, statement: str) -> None:
    """Lets the statement fail at that place, and checks the error."""
    connection.execute(f"SET fault.kind = '{kind}'")
    connection.execute(f"SET fault.place = '{place}'")
    with pytest.raises(psycopg.Error) as caught:
        connection.execute(statement).fetchall()
    connection.execute("RESET fault.place")
    error = caught.value
    assert error.sqlstate == KINDS[kind], error
    said = error.diag.message_primary
    assert said == ('schema "fault" does not exist' if kind == "postgres" else f"fault at {place}")
    assert error.diag.message_detail is None


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("place", "statement"), CASES)
def test_nothing_is_left(server: Cluster, place: str, statement: str, kind: str) -> None:
    with server.connect() as connection:
        connection.prepare_threshold = None
        expected = one(connection, ANSWER)
        held: list[Held] = []
        # The first two times PostgreSQL fills its caches of the catalog, and whenever autovacuum changes it;
        # what leaks is more each time.
        while len(held) < 4 or (held[-1] != held[-2] and len(held) < MAX_ROUNDS):
            for _ in range(3):
                fail(connection, place, kind, statement)
                assert one(connection, ANSWER) == expected
            in_subtransactions(connection, place, statement)
            assert one(connection, ANSWER) == expected
            held.append(Held.by(connection, server.place.data))
        assert held[-1].files == []
        assert held[-1] == held[-2]
        assert not trainers(connection.info.backend_pid)


def in_subtransactions(connection: psycopg.Connection, place: str, statement: str) -> None:
    """Three times in one transaction, which goes on."""
    pid = connection.info.backend_pid
    connection.execute(f"SET fault.place = '{place}'")
    connection.execute(
        "DO $do$ DECLARE failed int = 0; BEGIN FOR i IN 1..3 LOOP "
        f"BEGIN EXECUTE $s${statement}$s$; "
        "EXCEPTION WHEN OTHERS THEN failed = failed + 1; END; END LOOP; "
        "ASSERT failed = 3; END $do$"
    )
    connection.execute("RESET fault.place")
    assert not trainers(pid)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "place", ["image: opened", "batch: scored", "registry: written", "query: run", "source: row"]
)
def test_memory_does_not_grow(server: Cluster, place: str, kind: str) -> None:
    statement = next(statement for where, statement in CASES if where == place)
    with server.connect() as connection:
        for _ in range(BEFORE):
            fail(connection, place, kind, statement)
        # A leak grows each time; the allocator takes another heap once, at any time.
        growths = []
        while len(growths) < TRIES and min(growths, default=MOST_GROWTH_KB) >= MOST_GROWTH_KB:
            before = private_kb(connection)
            for _ in range(AFTER):
                fail(connection, place, kind, statement)
            growths.append(private_kb(connection) - before)
        assert min(growths) < MOST_GROWTH_KB, growths


def test_each_function_has_a_case(server: Cluster) -> None:
    statements, places = (
        " ".join(statement for _, statement in CASES),
        {place for place, _ in CASES},
    )
    with server.connect() as connection:
        functions = connection.execute(
            "SELECT proname, prosrc FROM pg_proc JOIN pg_depend ON objid = pg_proc.oid "
            "JOIN pg_extension ON refobjid = pg_extension.oid "
            "WHERE classid = 'pg_proc'::regclass AND extname ~ '^pgboost' AND probin IS NOT NULL"
        ).fetchall()
    assert len(functions) > 40
    without = [
        name
        for name, symbol in functions
        if f"called: {symbol}" not in places and not re.search(rf"\b{name}\(", statements)
    ]
    assert without == []


def test_installed_libraries_have_no_places(cluster: Cluster, dbname: str) -> None:
    with cluster.connect(dbname) as connection:
        load(connection, "m", grown(5, 3))
        connection.execute("SET fault.place = 'called: pgboost_predict'")
        assert (
            one(connection, "SELECT predict('m', ARRAY[1,1,1,1,1,1,1,1,1,1]::real[])") is not None
        )


@pytest.fixture
def three(server: Cluster) -> Iterator[tuple[psycopg.Connection, ...]]:
    """An administrator, a session that will wait, and another; and a model k whose version 1 answers 1."""
    with server.connect() as admin, server.connect() as waiting, server.connect() as other:
        load(admin, "k", constant(1))
        yield admin, waiting, other
        admin.execute("SELECT drop_model(name) FROM pgboost_models WHERE name = 'k' LIMIT 1")


def meanwhile(
    three: tuple[psycopg.Connection, ...], place: str, statement: str, then: Callable[[], object]
) -> object:
    """Runs a change while the statement waits at the place; returns the statement's answer."""
    admin, waiting, _ = three
    waiting.execute("SET fault.kind = 'wait'")
    waiting.execute(f"SET fault.place = '{place}'")
    admin.execute("SELECT pg_advisory_lock(1)")
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(one, waiting, statement)
        try:
            waits(admin, waiting)
            then()
        finally:
            admin.execute("SELECT pg_advisory_unlock(1)")
        answer.exception(timeout=30)
    waiting.execute("RESET fault.place")
    return answer.result()


@pytest.mark.parametrize("place", ["registry: opened", "image: opened"])
@pytest.mark.parametrize("change", ["deploy", "drop"])
def test_a_model_changes_while_it_is_looked_up(three, place: str, change: str) -> None:
    """The statement gives the answer of a version that was right while it ran, the next one that of today."""
    _, waiting, other = three
    load(other, "k", constant(2))
    other.execute("SELECT deploy_model('k@1')")
    changes = {"deploy": "SELECT deploy_model('k@2')", "drop": "SELECT drop_model('k')"}
    try:
        answer = meanwhile(
            three, place, "SELECT predict('k', 1)", lambda: other.execute(changes[change])
        )
        assert answer in ({1, 2} if change == "deploy" else {1})
    except psycopg.errors.UndefinedObject:
        assert change == "drop"
    waiting.execute("RESET fault.place")
    if change == "deploy":
        assert value(waiting, "k") == value(other, "k") == 2
    else:
        for connection in (waiting, other):
            with pytest.raises(psycopg.errors.UndefinedObject):
                value(connection, "k")


@pytest.mark.parametrize("place", ["load: stored", "load: part stored", "image: not renamed"])
def test_a_load_in_the_middle_hides_nothing_and_shows_nothing(three, place: str) -> None:
    admin, waiting, other = three

    def look() -> None:
        assert value(other, "k") == 1
        with pytest.raises(psycopg.errors.UndefinedObject):
            value(other, "k@2")

    content = constant(7).decode()
    assert meanwhile(three, place, f"SELECT load_model('k', '{content}')", look) == 2
    assert value(other, "k") == value(waiting, "k") == value(admin, "k@2") == 7


def test_two_sessions_write_the_same_image(three) -> None:
    """One waits before it renames its file, when the other's is already there."""
    admin, _, other = three
    content = constant(8).decode()

    def statement(name: str) -> str:
        return f"SELECT load_model('{name}', '{content}')"

    meanwhile(three, "image: not renamed", statement("w"), lambda: one(other, statement("o")))
    for connection in three:
        assert value(connection, "w") == value(connection, "o") == 8
    admin.execute("SELECT drop_model('w'), drop_model('o')")
