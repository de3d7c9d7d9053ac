"""What servers, load generator and network used while the generator ran, on however many hosts."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass

from bench.hosts.host import Command, Environment, Host, Process, Seen
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


class _Watches:
    """A watch on each host that has one of the parts."""

    def __init__(self, parts: Parts, stack: ExitStack) -> None:
        trees: dict[Host, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
        for part, roots in parts.items():
            for process in roots:
                trees[process.host][part].append(process.pid)
        self._seen: list[Seen] = []
        for host, on_host in trees.items():
            watch = host.watch(on_host)
            stack.callback(lambda watch=watch: self._seen.append(watch.finish()))

    def total(self) -> Used:
        """Of all hosts."""
        return _sum([seen.total for seen in self._seen])

    def part(self, name: str) -> Used:
        """Of one part, wherever it is."""
        return _sum([seen.parts[name] for seen in self._seen if name in seen.parts])


def _sum(used: list[Used]) -> Used:
    return Used(sum(one.cpu_seconds for one in used), sum(one.pss_bytes for one in used))


def run_measured(
    client: Host,
    command: Command,
    servers: Parts,
    environment: Environment | None = None,
    network: Iterable[Process] = (),
) -> tuple[str, Usage]:
    """What a load generator prints on its host, and what was used meanwhile on all."""
    carriers, servers = [*network], {part: [*roots] for part, roots in servers.items()}
    servers = {part: roots for part, roots in servers.items() if roots}
    with ExitStack() as stack:
        serving = _Watches(servers, stack)
        carrying = _Watches({NETWORK: carriers}, stack)
        timed = client.timed(command, environment)
    return timed.output, Usage(
        seconds=timed.seconds,
        server=serving.total() if servers else None,
        server_parts={part: serving.part(part) for part in servers},
        generator=timed.used,
        network=carrying.total() if carriers else None,
    )
