"""Just-in-time compilation around a batch changes no number."""

import psycopg
import pytest

from tests.extension.batch.tables import create
from tools.cluster.server import installed

QUERY = """
SELECT sum(predict('price', area, rooms, age)::float8),
       sum(predict('price', area * 2, rooms + 1, age)::float8)
  FROM homes WHERE area > 3 AND predict('price', area, rooms, age) > 105
"""


@pytest.fixture(scope="module", autouse=True)
def tables(cluster, dbname: str) -> None:
    """Tables and models."""
    with cluster.connect(dbname) as connection:
        create(connection)


def nodes(plan: dict) -> list[str]:
    """The kinds of nodes in a plan."""
    below = [kind for child in plan.get("Plans", []) for kind in nodes(child)]
    return [plan.get("Custom Plan Provider", plan["Node Type"]), *below]


def test_compiled_expressions_give_the_same(connection: psycopg.Connection) -> None:
    if not (installed("--pkglibdir") / "llvmjit.so").exists():
        pytest.skip("this PostgreSQL has no LLVM")
    connection.execute("SET jit = off")
    expected = connection.execute(QUERY).fetchone()
    for threshold in ("jit_above_cost", "jit_inline_above_cost", "jit_optimize_above_cost"):
        connection.execute(f"SET {threshold} = 0")
    connection.execute("SET jit = on")
    ((plan,),) = connection.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {QUERY}").fetchone()
    assert "BatchPredict" in nodes(plan["Plan"])
    assert plan["JIT"]["Functions"] > 0
    assert plan["JIT"]["Options"]["Inlining"]
    assert connection.execute(QUERY).fetchone() == expected
