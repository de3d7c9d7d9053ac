"""Predictions by one, two and three servers behind one address.

All share this machine's cores, so their rates do not add up here. Processor time per prediction tells what
servers on machines of their own would give: nothing is shared but the log that the primary sends.
"""

from pathlib import Path

from bench.database import program
from bench.generators import Load, number, pgbench
from bench.hosts import run_measured
from bench.key_set import key_set
from bench.replicas.servers import Servers, prediction
from bench.requests import REQUESTS, Asked
from data.flights import Request

KEYS = 1_000


def script(directory: Path, rows: int) -> Path:
    """pgbench's: one prediction, for a flight drawn evenly."""
    asked = Asked(0, key_set(Request(rows, seed=2022), KEYS), prediction(columns="{columns}"))
    path = directory / "replicas.sql"
    path.write_text(REQUESTS["random"].scripts(asked)[0])
    return path


def rate(servers: Servers, count: int, script: Path, load: Load) -> dict[str, float]:
    """Predictions per second, microseconds of processor time of each, and the least busy server's share."""
    addresses = [*servers.clusters][:count]
    with servers.through_pgbouncer(addresses) as (port, pooler):
        parts = {address: [servers.process(address)] for address in addresses}
        asked = pgbench.Program(program("pgbench"), "simple", int(servers.host.facts()["cores"]))
        output, usage = run_measured(
            servers.host,
            pgbench.command(asked, [script], load, None),
            {**parts, "pgbouncer": [pooler]},
            servers.database.environment((servers.host.address, port)),
        )
    requests = number(r"^number of transactions actually processed: (\d+)", output)
    used = {name: part.cpu_seconds for name, part in usage.server_parts.items()}
    spent = [used[address] for address in addresses]
    return {
        "per second": pgbench.rate(output, load.warm_up),
        "server us": sum(spent) / requests * 1e6,
        "pgbouncer us": used["pgbouncer"] / requests * 1e6,
        "least share": min(spent) / sum(spent),
    }
