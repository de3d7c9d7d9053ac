"""What a function in PL/Python needs of the server's host, and its first calls.

`find` says where this Python's packages are, or why PostgreSQL's Python cannot import them.
`warm` makes every connection of a pool predict once, for a first call imports XGBoost: each holds its
transaction open until all have answered, so none is asked twice. The answer is how long one call alone took.
"""

import subprocess
import sysconfig
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import psycopg

from cluster.server import bin_directory
from python_baseline.releases import UNPACKED


def find() -> dict[str, Any]:
    """The directories of the packages, and what stands in the way of importing them."""
    library = bin_directory().parent / "lib" / "plpython3.so"
    version = f"python{sysconfig.get_python_version()}"
    # XGBoost is the service's; what it needs is beside this Python.
    found = {"packages": [str(UNPACKED), sysconfig.get_path("purelib")], "lacks": None}
    if not library.exists():
        return {**found, "lacks": "there is no PL/Python for this PostgreSQL"}
    linked = subprocess.run(["ldd", library], capture_output=True, text=True, check=False).stdout
    if f"lib{version}." not in linked:
        return {**found, "lacks": f"PostgreSQL's PL/Python is of another version than {version}"}
    return found


def warm(conninfo: str, statement: str, connections: int) -> float:
    """Seconds of the first call of the first connection."""
    with ExitStack() as stack:
        made = [stack.enter_context(psycopg.connect(conninfo)) for _ in range(connections)]

        def call(connection: psycopg.Connection) -> None:
            connection.execute(statement)

        began = time.perf_counter()
        call(made[0])
        seconds = time.perf_counter() - began
        with ThreadPoolExecutor() as pool:
            [*pool.map(call, made[1:])]
    return seconds
