"""Every program of docs/clients.md runs, and each of its calls returns what predict returns.

The blocks of a section are one program. It reaches the server by libpq's environment, or by a URL
where its driver does not read that. Programs in other languages than Python are built in .build/clients
with the drivers of the lock files here, and are skipped where the language's tools are not installed.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import psycopg
import pytest

from tests.extension.pages.blocks import page, sections
from tools.cluster import Cluster

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
PAGE = "docs/clients.md"
BUILT = ROOT / ".build" / "clients"
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

# What manage.py sets up in an application.
DJANGO = """
import os
from django.conf import settings
database = {"ENGINE": "django.db.backends.postgresql", "NAME": os.environ["PGDATABASE"]}
settings.configure(DATABASES={"default": database})
"""


def python(program: str) -> list[list[str]]:
    """The commands that build a program and run it; the last one is that which runs it."""
    text = DJANGO + program if "from django" in program else program
    return [[sys.executable, "-c", text]]


def node(program: str) -> list[list[str]]:
    """As `python`."""
    folder = folder_with("node", "predict.js", program)
    return [["npm", "ci", "--prefix", str(folder)], ["node", str(folder / "predict.js")]]


def go(program: str) -> list[list[str]]:
    """As `python`."""
    folder = folder_with("go", "main.go", program)
    return [["go", "build", "-C", str(folder), "-o", "predict"], [str(folder / "predict")]]


def rust(program: str) -> list[list[str]]:
    """As `python`."""
    folder = folder_with("rust", "predict.rs", program)
    target = folder / "target"
    manifest = ["--manifest-path", str(folder / "Cargo.toml"), "--target-dir", str(target)]
    return [["cargo", "build", "--locked", *manifest], [str(target / "debug" / "predict")]]


def java(program: str) -> list[list[str]]:
    """As `python`."""
    folder = folder_with("java", "Predict.java", program)
    checksum, name = (HERE / "java" / "driver.sha256").read_text().split()
    driver = folder / name
    if not driver.exists():
        version = name.removeprefix("postgresql-").removesuffix(".jar")
        artifact = f"-Dartifact=org.postgresql:postgresql:{version}"
        copy = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy"
        run(
            ["mvn", "--batch-mode", copy, artifact, f"-DoutputDirectory={folder}"], dict(os.environ)
        )
    assert hashlib.sha256(driver.read_bytes()).hexdigest() == checksum
    source = str(folder / "Predict.java")
    paths = ["-d", str(folder), "-cp", str(driver)]
    return [["javac", *paths, source], ["java", "-cp", f"{folder}:{driver}", "Predict"]]


LANGUAGES: dict[str, tuple[Callable[[str], list[list[str]]], list[str]]] = {
    "py": (python, []),
    "js": (node, ["node", "npm"]),
    "go": (go, ["go"]),
    "rust": (rust, ["cargo"]),
    "java": (java, ["java", "javac", "mvn"]),
}


def folder_with(language: str, name: str, program: str) -> Path:
    """The folder in which programs of that language are built, with this one in it."""
    folder = BUILT / language
    shutil.copytree(HERE / language, folder, dirs_exist_ok=True)
    (folder / name).write_text(program)
    return folder


def run(command: list[str], environment: dict[str, str]) -> str:
    """The standard output of a command, which must succeed."""
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command[:2]}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def environment(cluster: Cluster, dbname: str) -> dict[str, str]:
    """A program's environment, with a database that has the page's model and its function."""
    function = "".join(block.text for block in page(PAGE).blocks)
    with cluster.connect(dbname) as connection:
        connection.execute("CREATE EXTENSION pgboost_train")
        connection.execute(TABLE + function)
        connection.execute(f"CREATE ROLE client LOGIN SUPERUSER PASSWORD '{PASSWORD}'")
    environment = cluster.environment(dbname)
    unix = cluster.conninfo(dbname, "client")
    tcp = f"127.0.0.1:{cluster.port}/{dbname}?user=client&password={PASSWORD.replace(' ', '%20')}"
    return environment | {"DATABASE_URL": unix, "JDBC_URL": f"jdbc:postgresql://{tcp}"}


@pytest.mark.parametrize("title", PROGRAMS)
def test_every_call_returns_what_predict_returns(
    title: str, environment: dict[str, str], connection: psycopg.Connection
) -> None:
    blocks = PROGRAMS[title]
    (language,) = {block.language for block in blocks}
    commands, tools = LANGUAGES[language]
    for tool in tools:
        if not shutil.which(tool):
            pytest.skip(f"{tool} is not installed")
    program = commands("".join(block.text for block in blocks))
    *_, printed = [run(command, environment) for command in program]
    query = "SELECT predict('churn', 40::float8, 52000::float8, 'north'::text, NULL::float8)"
    (expected,) = connection.execute(query).fetchone()
    assert [np.float32(line) for line in printed.split()] == [expected] * CALLS * len(blocks)


def test_the_page_has_a_program_for_every_driver() -> None:
    assert list(PROGRAMS) == [
        "psycopg 3", "psycopg 2", "asyncpg", "SQLAlchemy", "Django",
        "node-postgres", "JDBC", "pgx", "tokio-postgres",
    ]  # fmt: skip


@pytest.mark.usefixtures("environment")
def test_parameters_of_unknown_type_are_refused(connection: psycopg.Connection) -> None:
    for parameters in (["north", None], [40.0, None], [40, "north"]):
        with pytest.raises(
            psycopg.errors.IndeterminateDatatype, match="could not determine data type of parameter"
        ):
            connection.execute("SELECT predict('churn', %s, %s)", parameters)
