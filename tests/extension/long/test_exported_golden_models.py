"""Golden models of every library as SQL functions: rows around thresholds, compared with the engine.

The engine's tests write scripts, rows and results; the server here has no extension.
"""

import math
import os
import re
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.times import TIMES
from tools.cluster import Cluster

ROOT = Path(__file__).resolve().parents[3]
DATABASE = "exported"
REFUSED = re.compile(
    r"Unsupported: cannot export a model with target statistics of categories as SQL"
)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of scripts and rows."""
    directory = tmp_path_factory.mktemp("sql")
    subprocess.run(
        [
            "cargo", "test", "--quiet", "--locked", "--release", "-p", "gbtrees", "--target-dir",
            "target/engine-tests", "--test", "engine", "sql::", "--", "--ignored",
        ],
        cwd=ROOT / "extension", env=os.environ | {"GBTREES_SQL": str(directory)}, check=True,
    )  # fmt: skip
    return directory


@pytest.fixture(scope="module")
def bare(cluster: Cluster) -> Iterator[psycopg.Connection]:
    """A database without the extension."""
    cluster.create_database(DATABASE, replace=True)
    with cluster.connect(DATABASE) as connection:
        yield connection


def ordered(value: float, single: bool) -> int:
    """An integer that counts floating-point numbers; -0 and 0 differ."""
    number, of_bits, half = ("<f", "<i", 31) if single else ("<d", "<q", 63)
    (bits,) = struct.unpack(of_bits, struct.pack(number, value))
    return bits if bits >= 0 else -(1 << half) - bits - 1


def distance(found: str, expected: str, single: bool) -> int:
    """Units in the last place between two arrays' numbers, the largest."""
    pairs = zip(numbers(found), numbers(expected), strict=True)
    return max(
        0 if math.isnan(a) and math.isnan(b) else abs(ordered(a, single) - ordered(b, single))
        for a, b in pairs
    )


def numbers(array: str) -> list[float]:
    return [float(number) for number in array.strip("{}").split(",")]


def store(connection: psycopg.Connection, script: Path) -> tuple[str, bool, bool]:
    """Creates the functions, and the rows as table `x`.

    Returns the arguments, whether sums are real, and whether there are classes.
    """
    connection.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
    connection.execute(script.read_text())
    rows = script.with_suffix(".tsv").read_text()
    types, result = connection.execute(
        "SELECT proargtypes::regtype[]::text[], prorettype::regtype::text FROM pg_proc "
        "WHERE proname = 'm_margin' AND proargtypes::text NOT IN ('3802', '2249')"
    ).fetchone()
    is_array = types == ["double precision[]"]
    if is_array:
        types = ["float8"] * (rows.partition("\n")[0].count("\t") - 2)
    names = ", ".join(f"c{number}" for number in range(len(types)))
    columns = ", ".join(f"c{number} {name}" for number, name in enumerate(types))
    connection.execute(f"CREATE TABLE x ({columns}, margins text, results text, class text)")
    with connection.cursor().copy("COPY x FROM STDIN") as copy:
        copy.write(rows)
    (classes,) = connection.execute(
        "SELECT count(*) FROM pg_proc WHERE proname = 'm_class'"
    ).fetchone()
    return f"ARRAY[{names}]" if is_array else names, result.startswith("real"), classes > 0


def compare(connection: psycopg.Connection, script: Path) -> int:
    """Compares the rows of a model; returns how many."""
    arguments, single, has_classes = store(connection, script)
    array = f"array[]::{'real' if single else 'float8'}[] || "
    rows = 0
    for ending in ("", "_scan"):
        margin, value = (f"({array} m{ending}{of}({arguments}))::text" for of in ("_margin", ""))
        label = f"m_class({arguments})" if has_classes else "NULL"
        query = f"SELECT {margin}, margins, {value}, results, {label}, class FROM x"
        for margins, own, values, results, label, expected in connection.execute(query):
            assert distance(margins, own, single) == 0, (margins, own)
            assert distance(values, results, single) <= 2, (values, results)
            assert label == (expected if has_classes else None)
            rows += 1
    return rows + compare_query(connection, array, single)


def compare_query(connection: psycopg.Connection, array: str, single: bool) -> int:
    """Compares the rows of a query; returns how many."""
    (text,) = connection.execute("SELECT prosrc FROM pg_proc WHERE proname = 'm_query'").fetchone()
    names = re.findall(r'pg_typeof\(q\.("(?:[^"]|"")*")\)', text)
    columns = ", ".join(f"c{number} AS {name}" for number, name in enumerate(names))
    numbered = "SELECT *, row_number() OVER () AS id FROM x"
    query = f"SELECT id, {columns} FROM ({numbered}) AS x"
    found = connection.execute(
        f"SELECT ({array} m.margin)::text, x.margins, ({array} p.prediction)::text, x.results "
        f"FROM ({numbered}) AS x JOIN m_rows_margin(%s) AS m ON m.id = x.id::text "
        "JOIN m_rows(%s) AS p ON p.id = m.id",
        (query, query),
    ).fetchall()
    for margins, own, values, results in found:
        assert distance(margins, own, single) == 0, (margins, own)
        assert distance(values, results, single) <= 2, (values, results)
    return len(found)


@pytest.mark.parametrize("library", ["catboost", "lightgbm", "onnx", "xgboost"])
def test_functions_have_the_engines_results(
    written: Path, bare: psycopg.Connection, library: str
) -> None:
    """A tenth of the models of each library, and more with PGBOOST_TIMES."""
    scripts = sorted(written.glob(f"{library}-*.sql"))
    assert len(scripts) > 100
    step = max(1, 10 // TIMES)
    rows = 0
    for script in scripts[::step]:
        try:
            rows += compare(bare, script)
        except (AssertionError, psycopg.Error) as error:
            error.add_note(script.name)
            raise
    assert rows >= 180 * (len(scripts) // step)


def test_inexact_exports_are_refused_by_name(written: Path) -> None:
    refused = [path.read_text() for path in written.glob("*.refused")]
    assert refused
    assert all(REFUSED.fullmatch(message) for message in refused)
