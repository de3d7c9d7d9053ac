"""The training process: errors of its deaths, no leftovers, no thread elsewhere, and how it is installed."""

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import Connection

from tests.connections import Connect, running_since, until
from tests.extension.lifecycle.models import one
from tests.extension.train.running import (
    ENDLESS,
    FOREST,
    LONG_ROUND,
    PATIENCE,
    Running,
    gone,
    trainer_of,
    trainers,
)
from tests.state import TIMES
from tools.cluster import Cluster, start, stop
from tools.cluster.server import installed

SMALL = "SELECT i AS a, i AS y FROM generate_series(1, 100) AS i"
TRAIN = "SELECT * FROM train_model('small', %s, 'y', rounds => 2)"
# Some seconds of reading, and then a matrix of many megabytes.
WIDE = """SELECT i AS a, sin(i) AS b, cos(i) AS c, tan(i) AS d, i % 1000 AS y
    FROM generate_series(1, 1000000) AS i"""


@pytest.mark.parametrize(("number", "state", "said"), [
    (signal.SIGKILL, "53200", "the training process was killed"),
    (signal.SIGABRT, "38000", "the training process ended unexpectedly"),
    (signal.SIGSEGV, "38000", "the training process ended unexpectedly"),
    (signal.SIGBUS, "38000", "the training process ended unexpectedly"),
])  # fmt: skip
def test_a_killed_trainer_is_an_error(
    connection: Connection, connect: Connect,
    number: signal.Signals, state: str, said: str,
) -> None:  # fmt: skip
    running = Running(connect(), LONG_ROUND, FOREST)
    os.kill(trainer_of(connection, running.pid), number)
    assert running.ended() == state
    assert running.error.diag.message_primary == said
    if state == "38000":
        assert f"signal: {int(number)}" in running.error.diag.message_detail
    assert running.connection.execute(TRAIN, (SMALL,)).fetchone()
    assert running.connection.info.backend_pid == running.pid
    assert trainers(running.pid) == []


def test_out_of_memory(cluster: Cluster, connection: Connection, connect: Connect) -> None:
    running = Running(connect(), WIDE)
    # The trainer is started before the first row is read, in the same phase.
    trainer = trainer_of(connection, running.pid, "reading rows", rows=1)
    status = Path(f"/proc/{trainer}/status").read_text()
    most = (int(status.split("VmPeak:")[1].split()[0]) << 10) + (4 << 20)
    cluster.place.run("prlimit", "--pid", str(trainer), f"--as={most}")
    assert running.ended() == "53200"
    assert running.connection.execute(TRAIN, (SMALL,)).fetchone()


def test_it_is_alone_with_its_socket(connection: Connection, connect: Connect) -> None:
    """It has no file and no variable of the server, and is the first that the system kills without memory."""
    running = Running(connect(), ENDLESS)
    trainer = trainer_of(connection, running.pid, "reading rows", rows=1)
    place = Path(f"/proc/{trainer}")
    descriptors = sorted(int(entry.name) for entry in (place / "fd").iterdir())
    assert descriptors == [0, 1, 2, 3]
    assert (place / "environ").read_bytes() == b"OMP_WAIT_POLICY=passive\0"
    assert (place / "oom_score_adj").read_text() == "1000\n"
    assert os.getpgid(trainer) == trainer
    running.connection.cancel()
    assert running.ended() == "57014"


def test_libxgboost_is_never_in_a_backend(connection: Connection) -> None:
    backend = Path(f"/proc/{connection.info.backend_pid}")
    connection.execute("SELECT xgboost_version()")
    connection.execute(TRAIN, (SMALL,))
    connection.execute(TRAIN.replace("2)", "2, continue_from => 'small')"), (SMALL,))
    connection.execute("SELECT xgboost_predict('small', '{5}')")
    connection.execute("SELECT * FROM verify_model('small', %s)", (SMALL,))
    assert "libxgboost" not in (backend / "maps").read_text()
    assert threads_of(backend) == 1


# They come one by one.
ROWS = "(SELECT generate_series(1, 100000000) AS i) AS s"
PREDICTIONS = [
    f"SELECT sum(xgboost_predict('small', ARRAY[i])) FROM {ROWS}",
    f"SELECT * FROM verify_model('small', 'SELECT i AS a FROM {ROWS}')",
]


def predicting(pid: int) -> int:
    """The process that predicts for a backend, once there is one."""
    return until(lambda: trainers(pid), seconds=PATIENCE)[0]


@pytest.mark.parametrize("statement", PREDICTIONS, ids=["xgboost_predict", "verify_model"])
@pytest.mark.parametrize(
    ("number", "state"),
    [(signal.SIGABRT, "38000"), (signal.SIGSEGV, "38000"), (signal.SIGKILL, "53200")],
)
def test_a_crash_in_a_prediction_is_an_error_of_its_statement(
    connection: Connection, connect: Connect, statement: str,
    number: signal.Signals, state: str,
) -> None:  # fmt: skip
    connection.execute(TRAIN, (SMALL,))
    started = running_since(connection)
    running = Running(connect(), SMALL, "{}", statement)
    os.kill(predicting(running.pid), number)
    assert running.ended() == state
    assert one(running.connection, "SELECT xgboost_predict('small', '{5}') = predict('small', 5)")
    assert running.connection.info.backend_pid == running.pid
    assert running_since(connection) == started


@pytest.mark.parametrize("statement", PREDICTIONS, ids=["xgboost_predict", "verify_model"])
def test_a_cancel_ends_a_prediction_and_leaves_no_process_at_work(
    connection: Connection, connect: Connect, statement: str
) -> None:
    connection.execute(TRAIN, (SMALL,))
    running = Running(connect(), SMALL, "{}", statement)
    process = predicting(running.pid)
    connection.execute("SELECT pg_cancel_backend(%s)", (running.pid,))
    assert running.ended() == "57014"
    assert one(running.connection, "SELECT xgboost_predict('small', '{5}') = predict('small', 5)")
    # One that waited for rows when the statement ended serves the next.
    (left,) = trainers(running.pid)
    assert left == process or gone(process)


def test_predictions_of_a_connection_share_one_process_that_ends_with_it(
    connection: Connection, connect: Connect
) -> None:
    connection.execute(TRAIN, (SMALL,))
    other = connect()
    pid = other.info.backend_pid
    for _ in range(3):
        other.execute("SELECT xgboost_predict('small', ARRAY[i]) FROM generate_series(1, 50) AS i")
        other.execute("SELECT * FROM verify_model('small', %s)", (SMALL,))
    (process,) = trainers(pid)
    limits = Path(f"/proc/{process}/limits").read_text()
    (most,) = [
        line.split()[3] for line in limits.splitlines() if line.startswith("Max address space")
    ]
    assert 1 << 32 <= int(most) < 1 << 33
    other.close()
    assert gone(process)


def test_a_training_within_a_training(connection: Connection) -> None:
    connection.execute(
        "CREATE FUNCTION inner_training() RETURNS integer LANGUAGE plpgsql AS $$ BEGIN "
        f"PERFORM train_model('inner', '{SMALL}', 'y', rounds => 2); RETURN 1; END $$"
    )
    source = f"SELECT a, y, inner_training() AS b FROM ({SMALL}) AS s WHERE a < 4"
    assert connection.execute(TRAIN, (source,)).fetchone()
    assert trainers(connection.info.backend_pid) == []


LIBRARIES = installed("--pkglibdir")


@pytest.fixture
def empty(cluster: Cluster) -> str:
    """A database without extensions."""
    cluster.create_database("empty", replace=True)
    return "empty"


@pytest.fixture
def alone(connect: Connect, empty: str) -> Iterator[tuple[Connection, Path]]:
    """A connection that finds the library alone, and the folder next to it, in which its trainer would be."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copy(LIBRARIES / "pgboost_train.so", folder)
        folder.chmod(0o755)
        (folder / "pgboost_train").mkdir(mode=0o755)
        connection = connect(dbname=empty)
        connection.execute(f"SET dynamic_library_path = '{folder}:$libdir'")
        yield connection, folder / "pgboost_train"


# The first message of a trainer of another version.
OTHER = '{"Ready":{"trainer":"7","libxgboost":"1"}}'


@pytest.mark.parametrize(("program", "state", "detail"), [
    (None, "58P01", "/pgboost_train/pgboost_trainer"),
    ("exit 3", "38000", "exit status: 3"),
    ("echo went wrong >&2; exit 1", "38000", "went wrong"),
    ("echo std::bad_alloc >&2; kill -ABRT $$", "53200", ""),
    ("printf '\\377\\377\\377\\377\\377\\377\\377\\377' >&0; exec sleep 600", "38000", ""),
    (f"printf '\\{len(OTHER):03o}\\0\\0\\0\\0\\0\\0\\0%s' '{OTHER}' >&0; exec sleep 600", "58P01", "version"),
])  # fmt: skip
def test_replies_of_the_trainer_are_checked(
    connect: Connect, alone: tuple[Connection, Path], program: str | None, state: str, detail: str
) -> None:
    connection, folder = alone
    (folder / "xgboost").symlink_to(LIBRARIES / "pgboost_train" / "xgboost")
    connect(dbname="empty").execute("CREATE EXTENSION pgboost_train CASCADE")
    if program:
        (folder / "pgboost_trainer").write_text(f"#!/bin/sh\n{program}\n")
        (folder / "pgboost_trainer").chmod(0o755)
    with pytest.raises(psycopg.Error) as caught:
        connection.execute(TRAIN, (SMALL,))
    assert caught.value.sqlstate == state, caught.value
    assert detail in (caught.value.diag.message_detail or "")
    assert connection.execute("SELECT 1").fetchone() == (1,)


def test_unfinished_files_of_progress_go(
    cluster: Cluster, connection: Connection, connect: Connect
) -> None:
    """After a full disk, and after the kill of a backend that was writing."""
    files = "SELECT f FROM pg_ls_dir('pg_stat_tmp') AS f WHERE f LIKE 'pgboost_train%'"
    other = connect()
    cluster.place.run("prlimit", "--pid", str(other.info.backend_pid), "--fsize=0")
    with pytest.raises(psycopg.Error) as caught:
        other.execute(TRAIN, (SMALL,))
    assert caught.value.sqlstate in ("58030", "53100")
    assert connection.execute(files).fetchall() == []
    connection.execute(f"COPY (SELECT 1) TO '{_unfinished(connection)}'")
    assert connection.execute(files).fetchall() != []
    connection.execute("SELECT * FROM pg_stat_progress_train_model")
    assert connection.execute(files).fetchall() == []


def _unfinished(connection: Connection) -> str:
    """The file of a process that has ended."""
    with subprocess.Popen(["true"]) as process:
        process.wait()
    (data,) = connection.execute("SHOW data_directory").fetchone()
    return f"{data}/pg_stat_tmp/pgboost_train.{process.pid}.new"


@pytest.mark.parametrize("missing", ["pgboost_trainer", "libxgboost"])
def test_a_missing_file_is_reported_with_a_hint(
    alone: tuple[Connection, Path], missing: str
) -> None:
    connection, folder = alone
    if missing == "libxgboost":
        shutil.copy(LIBRARIES / "pgboost_train" / "pgboost_trainer", folder)
    connection.execute("CREATE EXTENSION pgboost")
    with pytest.raises(psycopg.Error) as caught:
        connection.execute("CREATE EXTENSION pgboost_train")
    assert caught.value.sqlstate == "58P01"
    said = caught.value.diag
    assert said.message_primary == f"{missing} is not installed"
    assert str(folder) in said.message_detail
    assert "make install" in said.message_hint
    assert connection.execute("SELECT count(*) FROM pgboost_models").fetchone() == (0,)


def test_other_schemas(connect: Connect, empty: str) -> None:
    connection = connect(dbname=empty)
    connection.execute('CREATE SCHEMA "odd one"; CREATE SCHEMA other')
    connection.execute('CREATE EXTENSION pgboost SCHEMA "odd one"')
    connection.execute("CREATE EXTENSION pgboost_train SCHEMA other")
    connection.execute("SELECT other.train_model('m', %s, 'y')", (SMALL,))
    found = connection.execute("SELECT * FROM other.verify_model('m', %s)", (SMALL,)).fetchone()
    assert found == (100, 0, 0)
    assert connection.execute("SELECT other.xgboost_predict('m', '{5}')").fetchone()
    assert connection.execute("SELECT * FROM other.pg_stat_progress_train_model").fetchall() == []


def test_dropping_it_leaves_the_models(connect: Connect, empty: str) -> None:
    connection = connect(dbname=empty)
    connection.execute("CREATE EXTENSION pgboost_train CASCADE")
    connection.execute("SELECT train_model('m', %s, 'y')", (SMALL,))
    connection.execute("DROP EXTENSION pgboost_train")
    assert connection.execute("SELECT round(predict('m', 50))").fetchone() == (50,)


def test_users_have_few_functions_and_those_that_only_read_run_in_parallel(
    connect: Connect, empty: str
) -> None:
    """At most 50 of both extensions, besides the aggregates."""
    superuser = connect(dbname=empty)
    superuser.execute("CREATE EXTENSION pgboost_train CASCADE")
    functions = superuser.execute(
        "SELECT p.oid::regprocedure::text, p.provolatile <> 'v' AND p.proparallel <> 's'"
        " FROM pg_proc AS p JOIN pg_depend AS d ON d.objid = p.oid AND d.classid = 'pg_proc'::regclass"
        " JOIN pg_extension AS e ON e.oid = d.refobjid AND d.refclassid = 'pg_extension'::regclass"
        " WHERE e.extname ~ '^pgboost' AND d.deptype = 'e' AND p.prokind = 'f'"
        " AND p.pronamespace <> 'pgboost_catalog'::regnamespace"
    ).fetchall()
    assert 30 < len(functions) <= 50
    assert [name for name, serial in functions if serial] == []


MANY = "SELECT i AS a, sin(i) AS b, i % 17 AS y FROM generate_series(1, 2000) AS i"
CONNECTIONS = 100 * TIMES
TRAIN_MANY = "SELECT value FROM train_model('m', %s, 'y', %s, rounds => 3, allow_change => true)"


@pytest.fixture(scope="module", params=["", "pgboost_train, pgboost"], ids=["loaded", "preloaded"])
def server(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Cluster]:
    """A server whose postmaster has both libraries, or neither."""
    state = tmp_path_factory.mktemp("threads") / "server"
    running, _ = start(state, 54339, {"shared_preload_libraries": request.param})
    with running.connect() as connection:
        connection.execute("CREATE EXTENSION pgboost_train CASCADE")
    yield running
    stop(state, delete=True)


def postmaster(server: Cluster) -> Path:
    """The process of a server."""
    return Path("/proc") / (server.place.data / "postmaster.pid").read_text().split()[0]


def threads_of(process: Path) -> int:
    return len(list((process / "task").iterdir()))


@pytest.mark.parametrize("threads", [1, 4])
def test_hundreds_of_connections(server: Cluster, threads: int) -> None:
    values = set()
    for _ in range(CONNECTIONS):
        with server.connect() as connection:
            connection.execute("SET statement_timeout = '60s'")
            arguments = MANY, f'{{"nthread": {threads}}}'
            values.add(connection.execute(TRAIN_MANY, arguments).fetchone())
            assert connection.execute("SHOW pgboost_train.max_threads").fetchone() == ("0",)
    assert len(values) == 1
    assert threads_of(postmaster(server)) == 1


def test_the_postmaster_has_no_libxgboost(server: Cluster) -> None:
    """OpenMP does not survive a fork."""
    with server.connect() as connection:
        preloaded = one(connection, "SHOW shared_preload_libraries")
    maps = (postmaster(server) / "maps").read_text()
    assert ("pgboost_train.so" in maps) == bool(preloaded)
    assert "libxgboost" not in maps and "libgomp" not in maps


def test_loading_the_library_starts_no_thread(connection: Connection) -> None:
    connection.execute("LOAD 'pgboost_train'")
    backend = Path(f"/proc/{connection.info.backend_pid}")
    assert threads_of(backend) == 1
    assert "libxgboost" not in (backend / "maps").read_text()
