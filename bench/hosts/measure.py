"""What servers, load generator and network used while the generator ran, on however many hosts."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from bench.hosts.host import Command, Environment, Host, Process
from bench.results import Used

# The part that carries packets between the hosts, which is no server.
NETWORK = "network"

Parts = Mapping[str, Iterable[Process]]


@dataclass(frozen=True)
class Usage:
    """What was used during a run."""

    seconds: float
    # None where the servers' processes cannot be seen.
    server: Used | None
    # The same apart: postgres, pgbouncer, gunicorn, redis.
    server_parts: dict[str, Used]
    generator: Used
    # None where no process carries the packets.
    network: Used | None = None


def _sum(used: list[dict[str, Any]]) -> Used:
    return Used(sum(one["cpu_seconds"] for one in used), sum(one["pss_bytes"] for one in used))


def run_measured(
    client: Host,
    command: Command,
    servers: Parts,
    environment: Environment | None = None,
    network: Iterable[Process] = (),
) -> tuple[str, Usage]:
    """What a load generator prints on its host, and what was used meanwhile on all."""
    trees: dict[tuple[Host, bool], dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for part, roots in {**servers, NETWORK: network}.items():
        for process in roots:
            trees[process.host, part == NETWORK][part].append(process.pid)
    watches = [(*place, place[0].ask("watch", trees=watched)) for place, watched in trees.items()]
    words, known = client.words(command), dict(environment or {})
    try:
        timed = client.ask("timed", command=words, environment=known)
    finally:
        seen = [(carries, host.ask("finish", watch=watch)) for host, carries, watch in watches]
    serving = [one for carries, one in seen if not carries]
    carrying = [one["total"] for carries, one in seen if carries]
    names = dict.fromkeys(name for one in serving for name in one["parts"])
    return timed["output"], Usage(
        seconds=timed["seconds"],
        server=_sum([one["total"] for one in serving]) if serving else None,
        server_parts={
            name: _sum([one["parts"][name] for one in serving if name in one["parts"]])
            for name in names
        },
        generator=Used(**timed["used"]),
        network=_sum(carrying) if carrying else None,
    )
