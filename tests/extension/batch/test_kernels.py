"""The setting pgboost.kernel accepts the kernels that this processor can run, and refuses others."""

from pathlib import Path

import psycopg
import pytest
from psycopg import errors

from tests.connections import Connect
from tests.extension.lifecycle.models import grown, load, one

# The flags that each kernel needs; best first.
NEEDS = {
    "avx512": {
        "avx2", "avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512vbmi", "popcnt"
    },
    "avx512bw": {"avx512f", "avx512bw", "avx512dq", "avx512vl"},
    "avx2": {"avx2"},
    "neon": {"asimd"},
    "portable": set(),
}  # fmt: skip


def flags() -> set[str]:
    """The first processor's features, from the operating system."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        name, _, words = line.partition(":")
        if name.strip() in ("flags", "Features"):
            return set(words.split())
    return set()


def present() -> list[str]:
    """The kernels that this machine can run, best first."""
    return [kernel for kernel, needs in NEEDS.items() if needs <= flags()]


MISSING = [kernel for kernel in NEEDS if kernel not in present()]
COLUMNS = ", ".join(f"f{i + 1}" for i in range(10))
RANDOM = ", ".join(
    f"CASE WHEN random() < 0.9 THEN random()::real END AS f{i + 1}" for i in range(10)
)
QUERY = f"SELECT predict('m', {COLUMNS}) FROM rows"


@pytest.fixture(scope="module", autouse=True)
def rows(cluster, dbname: str) -> None:
    """A table of rows, and a model that each kernel evaluates in its own way."""
    with cluster.connect(dbname) as connection:
        load(connection, "m", grown(100, 6))
        connection.execute(
            f"CREATE TABLE rows AS SELECT i AS id, {RANDOM} FROM generate_series(1, 3000) AS i"
        )
        connection.execute("VACUUM ANALYZE rows")
        connection.execute(f"CREATE TABLE expected AS {QUERY}")


def used(connection: psycopg.Connection) -> str:
    """The kernel that a batch says it used."""
    explained = connection.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {QUERY}").fetchone()
    assert explained is not None
    plan = explained[0][0]["Plan"]
    assert plan["Custom Plan Provider"] == "BatchPredict", plan
    return plan["Kernel"]


def test_automatic_is_the_best_there_is(connection: psycopg.Connection) -> None:
    assert used(connection) == present()[0]


@pytest.mark.parametrize("kernel", present())
def test_a_kernel_is_used_and_gives_the_same(connection: psycopg.Connection, kernel: str) -> None:
    # The statement and its model are prepared for another kernel first.
    expected = connection.execute(QUERY).fetchall()
    connection.execute(f"SET pgboost.kernel = {kernel}")
    assert one(connection, "SHOW pgboost.kernel") == kernel
    assert used(connection) == kernel
    for batch in ("on", "off"):
        connection.execute(f"SET pgboost.enable_batch = {batch}")
        assert connection.execute(QUERY).fetchall() == expected


@pytest.mark.skipif(not MISSING, reason="this CPU can run every kernel")
@pytest.mark.parametrize("kernel", MISSING)
def test_a_kernel_that_the_cpu_lacks_is_refused(connect: Connect, dbname: str, kernel: str) -> None:
    connection = connect()
    connection.execute("LOAD 'pgboost'")
    with pytest.raises(errors.InvalidParameterValue) as raised:
        connection.execute(f"SET pgboost.kernel = {kernel}")
    assert raised.value.diag.message_primary == f'this CPU cannot run kernel "{kernel}"'
    assert ", ".join(present()) in (raised.value.diag.message_detail or "")
    assert used(connection) == present()[0]
    # A connection that has not loaded the library leaves such a value for later ones to refuse.
    admin = connect()
    admin.execute(f"ALTER DATABASE {dbname} SET pgboost.kernel = {kernel}")
    try:
        assert used(connect()) == present()[0]
    finally:
        admin.execute(f"ALTER DATABASE {dbname} RESET pgboost.kernel")


def test_every_kernel_has_a_name(connection: psycopg.Connection) -> None:
    connection.execute("LOAD 'pgboost'")
    names = one(connection, "SELECT enumvals FROM pg_settings WHERE name = 'pgboost.kernel'")
    assert names == ["auto", *NEEDS]
