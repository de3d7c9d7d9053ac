"""docs/search.md runs with pgvector, where this PostgreSQL has it."""

from pathlib import Path

import pytest

from tests.extension.pages import databases
from tests.extension.pages.blocks import page
from tests.extension.pages.running import compared, printed
from tools.cluster import Cluster
from tools.cluster.server import installed

PAGE = "docs/search.md"
DATABASE = "search"
# The page's claim about a product without clicks: the model has learned from NULL, and 0 is no substitute.
MISSING = """
    SELECT count(*) > 0, avg(abs(predict('ranker', s) - predict('ranker', z))) > 0.1
    FROM shown AS s, LATERAL (SELECT distance, text_rank, price, age, 0 AS clicks) AS z WHERE s.clicks IS NULL
"""


def test_the_page_ranks_candidates_of_two_indexes(cluster: Cluster, tmp_path: Path) -> None:
    if not (installed("--pkglibdir") / "vector.so").exists():
        pytest.skip("this PostgreSQL has no pgvector")
    databases.copy(cluster, DATABASE, PAGE)
    for block in page(PAGE).blocks:
        compared(block, printed(block, cluster, DATABASE, tmp_path))
    with cluster.connect(DATABASE) as connection:
        assert connection.execute(MISSING).fetchone() == (True, True)
        # An index on the vectors finds what the table has, and both ways find candidates.
        found = connection.execute(
            "SELECT count(*) FROM searches AS s, candidates(s.query, s.near) WHERE s.id <= 20"
        ).fetchone()
        assert 20 * 100 <= found[0] <= 20 * 200
