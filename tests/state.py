"""Of a run of tests: where its clusters lie, and how much larger than usual it is.

pytest-xdist runs the tests of a file in one of several processes. Each has a cluster for all of its files,
below .test/ in a separate folder, at a port that no other prefers.
"""

import os
from pathlib import Path

_WORKER = os.environ.get("PYTEST_XDIST_WORKER", "")
STATE = Path(__file__).resolve().parent.parent / ".test" / _WORKER
# Preferred ports are this many apart.
PORTS = 20 * (int(_WORKER.removeprefix("gw")) if _WORKER else 0)
# How many times larger the tests are that are worth it.
TIMES = max(1, int(os.environ.get("PGBOOST_TIMES", "1")))
