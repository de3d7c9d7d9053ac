"""Starts the servers that the comparison needs beside PostgreSQL, each ready when it returns.

All listen on their host's own address at a free port, with a configuration of their own
in a directory of the harness; a Redis of the system is never used.
"""

from dataclasses import dataclass
from pathlib import PurePath

from bench.database import Address
from bench.hosts import CommandFailed, Host, Service


@dataclass(frozen=True)
class Listening:
    """A server that accepts connections."""

    # None where it was running already.
    service: Service | None
    at: Address


def listening(service: Service, port: int, path: str | None = None) -> Listening:
    """The server when it answers, to GET of the path where there is one."""
    host = service.host
    wanted = [host.address, port, service.pid, *([path] if path else [])]
    try:
        if host.module("bench.hosts.ready", *wanted):
            return Listening(service, (host.address, port))
    except BaseException:
        host.stop(service)
        raise
    host.stop(service)
    raise CommandFailed(f"{service.name} does not answer:\n{service.last_words()}")


def start_redis(host: Host, directory: PurePath, port: int | None = None) -> Listening:
    """A Redis that keeps everything in memory and writes nothing to disk."""
    port = port or host.free_port()
    # In its protected mode it refuses everyone but its own machine.
    protected = "yes" if host.address.startswith("127.") else "no"
    command = [
        "redis-server", "--bind", host.address, "--port", str(port), "--dir", str(directory),
        "--save", "", "--appendonly", "no", "--protected-mode", protected,
    ]  # fmt: skip
    return listening(host.start("redis-server", command, directory / "redis.log"), port)
