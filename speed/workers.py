"""How much faster two parallel workers are than one: the same scan, in turn.

The leader only collects, so that what is compared is one worker's work with that of two. The
statement is never prepared: a cached plan would keep its number of workers.
"""

import time

import psycopg

SETTINGS = {
    "parallel_leader_participation": "off",
    "parallel_setup_cost": "0",
    "parallel_tuple_cost": "0",
    "min_parallel_table_scan_size": "0",
}


def scans_by_workers(
    connection: psycopg.Connection, expression: str, rounds: int
) -> dict[int, list[float]]:
    """Seconds that the sum of the expression over all flights takes one worker, and two."""
    query = f"SELECT sum({expression}) FROM flights f"
    results: dict[int, list[float]] = {1: [], 2: []}
    for setting, value in SETTINGS.items():
        connection.execute(f"SET {setting} = {value}")
    # The first round warms the cache and is not counted.
    for round_ in range(rounds + 1):
        for workers, measured in results.items():
            connection.execute(f"SET max_parallel_workers_per_gather = {workers}")
            began = time.perf_counter()
            connection.execute(query, prepare=False).fetchone()
            if round_ > 0:
                measured.append(time.perf_counter() - began)
    for setting in (*SETTINGS, "max_parallel_workers_per_gather"):
        connection.execute(f"RESET {setting}")
    return results
