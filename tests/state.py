"""Where the clusters of a run lie: below .test/, in a folder for each process that runs tests.

pytest-xdist runs the tests of a file in one of several processes. Each has a cluster for all of its
files, at a port that no other prefers.
"""

import os
from pathlib import Path

_WORKER = os.environ.get("PYTEST_XDIST_WORKER", "")
STATE = Path(__file__).resolve().parent.parent / ".test" / _WORKER
# Preferred ports are this many apart.
PORTS = 20 * (int(_WORKER.removeprefix("gw")) if _WORKER else 0)
