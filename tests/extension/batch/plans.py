"""The batches in plans."""

import psycopg


def has_batch(connection: psycopg.Connection, query: str) -> bool:
    """Returns whether the plan has a batch."""
    lines = connection.execute(f"EXPLAIN (COSTS OFF) {query}").fetchall()
    return any("BatchPredict" in line for (line,) in lines)
