"""The SQL regression gives the same with PostgreSQL's own settings that change how a statement runs.

On a PostgreSQL built with --enable-cassert also with every cache thrown away at each chance, which
takes two hours of a processor: PGBOOST_DISCARD_CACHES=1.
"""

import os

import pytest

from tests.extension.test_sql_regression import NAMES, SHOW_BATCHES, WORK, run
from tools.cluster import Cluster

SHOW_PLANS_OR_SETTINGS = (*SHOW_BATCHES, "predict_places")
# Each worker warns by itself of a setting that no kernel has.
WARN_IN_WORKERS = ("kernels",)
# Rows of a batch that a change overtakes are predicted again one by one, and counted again.
COUNT_ROWS = ("statistics",)


def options(cluster: Cluster) -> dict[str, str]:
    with cluster.connect() as connection:
        major = connection.info.server_version // 10_000
    # PostgreSQL 16 renamed it.
    forced = "debug_parallel_query" if major >= 16 else "force_parallel_mode"
    found = {
        "parallel": f"-c {forced}=regress",
        "jit": "-c jit=on -c jit_above_cost=0 -c jit_inline_above_cost=0 -c jit_optimize_above_cost=0",
        "generic": "-c plan_cache_mode=force_generic_plan",
    }
    if os.environ.get("PGBOOST_DISCARD_CACHES") == "1":
        found["discard"] = "-c debug_discard_caches=1"
    return found


@pytest.mark.parametrize("setting", ["parallel", "jit", "generic", "discard"])
@pytest.mark.parametrize("name", [name for name in NAMES if name not in SHOW_PLANS_OR_SETTINGS])
def test_output_is_the_same(name: str, setting: str, cluster: Cluster) -> None:
    chosen = options(cluster).get(setting)
    if chosen is None:
        pytest.skip("needs a PostgreSQL with assertions and PGBOOST_DISCARD_CACHES=1")
    if setting == "parallel" and name in WARN_IN_WORKERS:
        pytest.skip("workers repeat a warning")
    if setting == "discard" and name in COUNT_ROWS:
        pytest.skip("rows are counted again")
    output = WORK / "out" / f"{name}_{setting}"
    difference = run(name, cluster, {"PGOPTIONS": chosen}, output)
    if difference:
        pytest.fail(f"{name}.sql gives other output with {chosen}:\n{difference}", pytrace=False)


def test_assertions_are_compiled_in_where_caches_are_discarded(cluster: Cluster) -> None:
    if os.environ.get("PGBOOST_DISCARD_CACHES") == "1":
        with cluster.connect() as connection:
            assert connection.execute("SHOW debug_assertions").fetchone() == ("on",)
