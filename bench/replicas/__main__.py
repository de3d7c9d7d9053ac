"""`python -m bench.replicas`: a primary and two hot standbys: predictions, a deploy, a promotion.

Writes replicas.json, of which docs/operations.md tells.
"""

import argparse
import json
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from bench import record
from bench.generators import Load
from bench.hosts import local
from bench.replicas import following
from bench.replicas.promotion import promoted
from bench.replicas.rates import rate, script
from bench.replicas.servers import started
from bench.turns import in_turn
from workbench.tell import say

ROWS = 100_000
DEPLOYS_PER_SECOND = 10


def run(load: Load, repetitions: int, rows: int = ROWS) -> dict[str, Any]:
    """What was found; whatever was started is stopped."""
    with ExitStack() as stack:
        host = local()
        stack.callback(host.close)
        servers = stack.enter_context(started(host, rows))
        asked = script(Path(host.directory), rows)
        say("predictions by one, two and three servers")
        rates = in_turn(
            {count: partial(rate, servers, count, asked, load) for count in (1, 2, 3)}, repetitions
        )
        say("rows and deploys on their way to the standbys")
        behind = following.rows(servers, load.seconds)
        deployed = following.deploys(servers, DEPLOYS_PER_SECOND * load.seconds)
        say("the primary is killed, a standby promoted")
        return {
            "postgresql": servers.database.one("SHOW server_version"), "rows": rows,
            "clients": load.clients, "seconds": load.seconds, "rates": rates,
            "row": behind, "deploy": deployed, "promotion": promoted(servers, load.seconds),
        }  # fmt: skip


def _print(result: dict[str, Any]) -> None:
    for count, runs in result["rates"].items():
        for one in runs:
            print(f"    {count} servers: " + ", ".join(f"{k} {v:,.2f}" for k, v in one.items()))
    for what in ("row", "deploy", "promotion"):
        print(f"    {what}: " + ", ".join(f"{k} {v:,.2f}" for k, v in result[what].items()))


def main() -> None:
    """Measures, prints and writes the result."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clients", type=int, default=20)
    parser.add_argument("--seconds", type=int, default=5, help="of a run")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--output", type=Path, default=record.RESULTS)
    given = parser.parse_args()
    load = Load(given.clients, given.seconds, 2022, warm_up=1)
    path = record.keep(given.output, "replicas", partial(run, load, given.repetitions))
    _print(json.loads(path.read_text()))


if __name__ == "__main__":
    main()
