"""Every program of docs/clients.md returns what predict returns, and drivers send what its table says.

The blocks of a section are one program. It reaches the server by libpq's environment, or by a URL where its
driver does not read that. A language whose tools are not installed is skipped.
"""

import re

import numpy as np
import psycopg
import pytest

from tests.extension.clients import programs, wire
from tests.extension.clients.programs import missing, printed
from tests.extension.pages.blocks import ROOT, page, sections
from tools.cluster import Cluster

PAGE = "docs/clients.md"
# The page's table has as many calls, and every block makes them all.
CALLS = 4
PASSWORD = "of a test"

TABLE = """
CREATE TABLE customers AS
SELECT 18 + i * 7 % 60 AS age, 20000.0 + i * 977 % 60000 AS income,
       (ARRAY['east', 'north', 'south', 'west'])[1 + i % 4] AS region, i * 3 % 20 AS visits,
       (i * 7 % 60 > i * 3 % 20 * 3) <> (i % 4 = 1) AS churned
FROM generate_series(1, 2000) AS i;
SELECT train_model('churn', 'customers', 'churned', rounds => 20);
"""

# The blocks of each driver's section.
PROGRAMS = {one.title: one.blocks for one in sections(PAGE) if one.title != "Parameters"}


def skip_without_tools(language: str) -> None:
    """Skips a test of a language that is not here."""
    if tools := missing(language):
        pytest.skip(f"not installed: {', '.join(tools)}")


@pytest.fixture(scope="module")
def environment(cluster: Cluster, dbname: str) -> dict[str, str]:
    """A program's environment, with a database that has the page's model and its function."""
    function = "".join(block.text for block in page(PAGE).blocks)
    with cluster.connect(dbname) as connection:
        connection.execute("CREATE EXTENSION pgboost_train")
        connection.execute(TABLE + function)
        connection.execute(f"CREATE ROLE client LOGIN SUPERUSER PASSWORD '{PASSWORD}'")
    unix = cluster.conninfo(dbname, "client")
    environment = cluster.environment(dbname)
    return environment | {"DATABASE_URL": unix} | jdbc(cluster.port, dbname)


def jdbc(port: int, dbname: str) -> dict[str, str]:
    """The URL for JDBC."""
    where = f"127.0.0.1:{port}/{dbname}?user=client&password={PASSWORD.replace(' ', '%20')}"
    return {"JDBC_URL": f"jdbc:postgresql://{where}"}


@pytest.mark.parametrize("title", PROGRAMS)
def test_every_call_returns_the_prediction(
    title: str, environment: dict[str, str], connection: psycopg.Connection
) -> None:
    blocks = PROGRAMS[title]
    (language,) = {block.language for block in blocks}
    skip_without_tools(language)
    lines = printed(language, "".join(block.text for block in blocks), environment)
    query = "SELECT predict('churn', 40::float8, 52000::float8, 'north'::text, NULL::float8)"
    (expected,) = connection.execute(query).fetchone()
    assert [np.float32(line) for line in lines.split()] == [expected] * CALLS * len(blocks)


def test_the_page_has_a_program_for_every_driver() -> None:
    assert list(PROGRAMS) == [
        "psycopg 3", "psycopg 2", "asyncpg", "SQLAlchemy", "Django",
        "node-postgres", "JDBC", "pgx", "tokio-postgres",
    ]  # fmt: skip


# A line of the page's table: a driver, with a setting or without, how its calls are sent, and from which call
# on by a prepared statement.
LINE = re.compile(
    r"^\| (?P<driver>[\w -]+?)(?: with `(?P<setting>[^`]+)`)?"
    r" \| (?P<sends>simple query|unnamed statement|new prepared statement)?(?:, )?"
    r"(?:prepared from call (?P<since>\d+) on)? \| (?P<result>[\w ]+) \|$",
    re.MULTILINE,
)


def protocols() -> dict[programs.Way, re.Match[str]]:
    """The table's lines."""
    lines = LINE.finditer((ROOT / PAGE).read_text())
    return {(line["driver"], line["setting"] or ""): line for line in lines}


@pytest.mark.parametrize("way", programs.PROGRAMS, ids=" ".join)
def test_drivers_send_the_types_of_the_table(
    way: programs.Way, environment: dict[str, str], cluster: Cluster, dbname: str
) -> None:
    language, program = programs.PROGRAMS[way]
    skip_without_tools(language)
    with wire.recorded(cluster.port, "churn(") as (port, sent):
        libpq = {"host": "127.0.0.1", "port": port, "user": "client", "password": PASSWORD}
        address = {f"PG{name.upper()}": str(value) for name, value in libpq.items()}
        url = {"DATABASE_URL": psycopg.conninfo.make_conninfo(**libpq, dbname=dbname)}
        printed(language, program, environment | address | url | jdbc(port, dbname))
    line = protocols()[way]
    since = int(line["since"] or programs.CALLS + 1)
    later = [wire.NEW] + [wire.PREPARED] * programs.CALLS
    expected = [line["sends"]] * (since - 1) + later
    assert sent == expected[: programs.CALLS]


def test_a_line_of_the_results_is_named_for_every_driver() -> None:
    """The results' page sorts the drivers, as they come, by the lines of its table."""
    known = protocols()
    assert known.keys() == programs.PROGRAMS.keys()
    results = (ROOT / "docs/benchmarks/README.md").read_text()
    for (driver, setting), line in known.items():
        assert f"| one prediction, {line['result']} | " in results
        (drivers,) = re.findall(rf"^- {line['result']}: (.*)$", results, re.MULTILINE)
        assert setting or driver in drivers


@pytest.mark.usefixtures("environment")
def test_parameters_of_unknown_type_are_refused(connection: psycopg.Connection) -> None:
    for parameters in (["north", None], [40.0, None], [40, "north"]):
        with pytest.raises(
            psycopg.errors.IndeterminateDatatype, match="could not determine data type of parameter"
        ):
            connection.execute("SELECT predict('churn', %s, %s)", parameters)
