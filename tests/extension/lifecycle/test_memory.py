"""A backend's memory does not grow with its work, and its cache keeps to its bound."""

import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from psycopg import Connection, errors

from tests.connections import Connect
from tests.extension.lifecycle.models import ROW, grown, load, one
from tests.extension.lifecycle.test_cancel import reset_statement_timeout
from tests.times import TIMES

MOST_GROWTH_KB = 1024
ROUNDS = 3
FORMS = {
    "columns": ", ".join(["x"] * 10),
    "array": f"ARRAY[{', '.join(['x'] * 10)}]::real[]",
    "numeric array": f"ARRAY[{', '.join(['x'] * 10)}]::numeric[]",
    "row": "r",
    "jsonb": "to_jsonb(r)",
}


def private_kb(connection: Connection) -> int:
    """The backend's private memory: neither shared buffers nor mapped files."""
    status = Path(f"/proc/{connection.info.backend_pid}/status").read_text()
    return int(re.search(r"RssAnon:\s+(\d+) kB", status)[1])


def descriptors(connection: Connection) -> int:
    """Open files but those of relations, of which PostgreSQL keeps some open."""
    count = 0
    for link in Path(f"/proc/{connection.info.backend_pid}/fd").iterdir():
        # One may be closed meanwhile.
        with suppress(FileNotFoundError):
            count += not re.search(r"/(base/\d+|global)/\d", str(link.readlink()))
    return count


def peak_kb(connection: Connection) -> int:
    """The backend's peak memory since the last call."""
    process = Path(f"/proc/{connection.info.backend_pid}")
    peak = int(re.search(r"VmHWM:\s+(\d+) kB", (process / "status").read_text())[1])
    (process / "clear_refs").write_text("5")
    return peak


def mapped_images(connection: Connection) -> tuple[int, int]:
    """The number of image files that the backend has mapped, and their bytes together."""
    maps = Path(f"/proc/{connection.info.backend_pid}/maps").read_text()
    ranges = [line.split()[0].split("-") for line in maps.splitlines() if ".image" in line]
    return len(ranges), sum(int(end, 16) - int(begin, 16) for begin, end in ranges)


def grows_by(connection: Connection, work: Callable[[], object], times: int) -> int:
    """The growth of the backend's memory in kilobytes by repeated work.

    A leak grows in each round; what the allocator keeps of work that ends anywhere does not.
    """
    for _ in range(max(2, times // 10)):
        work()
    for _ in range(ROUNDS):
        before = private_kb(connection)
        for _ in range(times):
            work()
        if (growth := private_kb(connection) - before) < MOST_GROWTH_KB:
            break
    return growth


@pytest.mark.parametrize("form", FORMS)
def test_a_long_scan_takes_no_more_than_a_short_one(connection: Connection, form: str) -> None:
    load(connection, "m", grown(10, 4))
    rows = ", ".join(f"x AS f{i + 1}" for i in range(10))
    query = (
        f"SELECT count(predict('m', {FORMS[form]}))"
        " FROM generate_series(1, {}) AS n, LATERAL (SELECT n::real / 100000 AS x) AS v,"
        f" LATERAL (SELECT {rows}) AS r"
    )
    one(connection, query.format(1000))
    before = private_kb(connection)
    one(connection, query.format(400_000))
    # The allocator may retain what generate_series and a batch have used, each at most work_mem (4 MB).
    assert private_kb(connection) - before < 8 * MOST_GROWTH_KB


def test_interactions_of_a_wide_model_take_little_more_than_the_result(
    connection: Connection,
) -> None:
    features = 11_000
    load(connection, "wide", grown(1, 1, features=features))
    row = f"array_fill(0.5::real, ARRAY[{features}])"
    peak_kb(connection)
    query = f"SELECT array_length(predict_interactions('wide', {row}), 1)"
    assert one(connection, query) == features + 1
    result_kb = 4 * (features + 1) ** 2 // 1024
    assert result_kb < peak_kb(connection) < result_kb + (128 << 10)


@pytest.mark.parametrize("form", FORMS)
def test_many_statements_leave_nothing(connection: Connection, form: str) -> None:
    load(connection, "m", grown(10, 4))
    rows = ", ".join(f"x AS f{i + 1}" for i in range(10))
    query = (
        f"SELECT predict('m', {FORMS[form]}) FROM (VALUES (0.5::real)) AS v (x),"
        f" LATERAL (SELECT {rows}) AS r"
    )
    assert grows_by(connection, lambda: one(connection, query), 20_000 * TIMES) < MOST_GROWTH_KB


def test_rows_of_a_type_that_changes_leave_nothing(connection: Connection) -> None:
    load(connection, "m", grown(10, 4))
    columns = ", ".join(f"f{i + 1} real" for i in range(10))
    connection.execute(f"CREATE TABLE r ({columns})")
    connection.execute("INSERT INTO r VALUES (0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5)")

    def change() -> None:
        connection.execute("ALTER TABLE r RENAME f1 TO f0")
        connection.execute("ALTER TABLE r RENAME f0 TO f1")
        one(connection, "SELECT predict('m', r) FROM r")

    assert grows_by(connection, change, 2_000 * TIMES) < MOST_GROWTH_KB


def test_many_errors_leave_nothing(connection: Connection) -> None:
    load(connection, "m", grown(10, 4))

    def fail() -> None:
        with pytest.raises(errors.DataException):
            connection.execute("SELECT predict('m', 1)")
        with pytest.raises(errors.UndefinedObject):
            connection.execute("SELECT predict('no such', 1)")
        with pytest.raises(errors.InvalidBinaryRepresentation):
            connection.execute("SELECT load_model('bad', '{\"learner\": {}}')")

    assert grows_by(connection, fail, 1000 * TIMES) < MOST_GROWTH_KB


def test_many_cancelled_statements_leave_nothing(connection: Connection) -> None:
    load(connection, "m", grown(10, 4))
    connection.execute("CREATE TEMP TABLE file AS SELECT %b AS content", (grown(60, 8),))
    columns = ", ".join(["x"] * 10)
    scan = f"SELECT count(predict('m', {columns})) FROM generate_series(1, 10000000) AS x"
    cancelled = 0

    def cancel() -> None:
        nonlocal cancelled
        for query in (scan, "SELECT load_model('never', content), pg_sleep(1) FROM file"):
            connection.execute(f"SET statement_timeout = {1 + cancelled % 5}")
            with pytest.raises(errors.QueryCanceled):
                connection.execute(query)
            reset_statement_timeout(connection)
            cancelled += 1

    assert grows_by(connection, cancel, 500 * TIMES) < MOST_GROWTH_KB
    assert one(connection, "SELECT count(*) FROM pgboost_models WHERE name = 'never'") == 0


def test_a_file_above_the_limit_is_refused_before_it_is_read(connection: Connection) -> None:
    """The stored file is not even detoasted."""
    connection.execute("CREATE TEMP TABLE large (content bytea)")
    connection.execute("ALTER TABLE large ALTER content SET STORAGE EXTERNAL")
    connection.execute("INSERT INTO large VALUES (convert_to(repeat(' ', 100000000), 'UTF8'))")
    connection.execute("SET pgboost.max_model_size = '90MB'")
    taken = []
    for _ in range(3):
        # The library is loaded the first time, and the rest of it the second time.
        peak_kb(connection)
        before = peak_kb(connection)
        with pytest.raises(errors.ProgramLimitExceeded):
            connection.execute("SELECT load_model('never', content) FROM large")
        taken.append(peak_kb(connection) - before)
    assert taken[-1] < MOST_GROWTH_KB


def test_many_loads_leave_no_memory_in_loader_or_reader(
    connect: Connect,
) -> None:
    writer, reader = connect(), connect()
    contents = [grown(20, 6, seed=seed) for seed in range(2)]
    answers = set()

    def again() -> None:
        for content in contents:
            load(writer, "reloaded", content)
            answers.add(one(reader, f"SELECT predict('reloaded', {ROW})"))
        writer.execute("SELECT drop_model('reloaded')")

    again()
    before = private_kb(reader)
    growth = grows_by(writer, again, 100 * TIMES)
    assert growth < 2 * MOST_GROWTH_KB
    assert private_kb(reader) - before < MOST_GROWTH_KB
    assert len(answers) == 2


def test_different_models_stay_within_the_bound(connect: Connect) -> None:
    """Many more models than fit are used in turn: few stay mapped, and every answer is right."""
    writer, reader = connect(), connect()
    models = 30
    expected = []
    for index in range(models):
        load(writer, f"bound {index}", grown(25, 7, seed=100 + index))
        expected.append(one(writer, f"SELECT predict('bound {index}', {ROW})"))
    assert len(set(expected)) == models
    reader.execute("SET pgboost.cache_size = '1MB'")
    for turn in range(3):
        for index in range(models):
            assert one(reader, f"SELECT predict('bound {index}', {ROW})") == expected[index]
            count, size = mapped_images(reader)
            assert size <= 1024 * 1024, f"turn {turn}, model {index}: {count} images, {size} bytes"
    assert count > 1, "one image fills the bound: the models are too large for this test"
    # Within one statement all of them are in use; after it they are let go.
    numbers = one(
        reader,
        f"SELECT array_agg(predict('bound ' || i, {ROW}) ORDER BY i) FROM generate_series(0, 29) i",
    )
    assert numbers == expected
    one(reader, f"SELECT predict('bound 0', {ROW})")
    assert mapped_images(reader)[1] <= 1024 * 1024
    # With room for all, all stay.
    reader.execute("SET pgboost.cache_size = '256MB'")
    for index in range(models):
        assert one(reader, f"SELECT predict('bound {index}', {ROW})") == expected[index]
    assert mapped_images(reader)[0] == models


def test_models_above_the_bound_still_predict_and_do_not_add_up(connect: Connect) -> None:
    writer, reader = connect(), connect()
    expected = []
    for index in range(4):
        load(writer, f"large {index}", grown(150, 9, seed=index))
        expected.append(one(writer, f"SELECT predict('large {index}', {ROW})"))
    reader.execute("SET pgboost.cache_size = '1MB'")
    one(reader, f"SELECT predict('large 0', {ROW})")
    largest = mapped_images(reader)[1]
    for _ in range(3):
        for index in range(4):
            assert one(reader, f"SELECT predict('large {index}', {ROW})") == expected[index]
    assert largest == 0 or largest > 1024 * 1024
    assert mapped_images(reader)[1] <= largest


def test_a_connection_that_predicts_once_takes_little(connect: Connect) -> None:
    """The image is shared, so a backend's own memory grows by little, however large the model."""
    load(connect(), "wide", grown(300, 8))
    plain, predicting = connect(), connect()
    one(plain, "SELECT 1")
    one(predicting, f"SELECT predict('wide', {ROW})")
    assert mapped_images(predicting)[1] > 1024 * 1024
    assert private_kb(predicting) - private_kb(plain) < 2 * 1024
