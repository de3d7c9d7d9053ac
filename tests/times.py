"""How many times larger than usual the tests are that are worth it, by PGBOOST_TIMES (1)."""

import os

TIMES = max(1, int(os.environ.get("PGBOOST_TIMES", "1")))
