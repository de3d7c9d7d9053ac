"""The round trip between two hosts: one byte there and back over TCP, some thousand times.

Runs on the hosts, on what every Python has: `python -m bench.echo serve ADDRESS PORT` echoes the bytes
of one connection, `python -m bench.echo ask ADDRESS PORT COUNT` prints its percentiles. So
each time holds two wake-ups of a waiting process too, as every request's does.
"""

import contextlib
import json
import socket
import sys
import time

from bench.hosts import Host
from bench.results import RoundTrip

SAMPLES = 2_000
WARM_UP = 200


def serve(address: str, port: int) -> None:
    """Accepts, and echoes, until the asker has gone."""
    with socket.create_server((address, port)) as server:
        while True:
            connection, _ = server.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with contextlib.suppress(OSError), connection:
                while byte := connection.recv(1):
                    connection.send(byte)


def ask(address: str, port: int, count: int) -> list[float]:
    """The times in microseconds, in order of size."""
    with socket.create_connection((address, port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        found = []
        for _ in range(WARM_UP + count):
            began = time.perf_counter_ns()
            connection.send(b"x")
            connection.recv(1)
            found.append((time.perf_counter_ns() - began) / 1e3)
    return sorted(found[WARM_UP:])


def round_trip(source: Host, target: Host, delay: float | None = None) -> RoundTrip:
    """Measures from one host to another, at the delay that is set."""
    port = target.free_port()
    command = [target.python, "-m", "bench.echo", "serve", target.address, str(port)]
    environment = {"PYTHONPATH": str(target.root)}
    log = target.directory / "echo.log"
    service = target.start("echo", command, log, environment)
    try:
        target.module("bench.hosts.ready", target.address, port, service.pid)
        found = source.module("bench.echo", "ask", target.address, port, SAMPLES)
    finally:
        target.stop(service)
    return RoundTrip(
        source=source.name, target=target.name, via="tcp", p50_us=found["p50_us"],
        p99_us=found["p99_us"], samples=SAMPLES, delay_ms=delay,
    )  # fmt: skip


def main() -> None:
    """One end of it."""
    verb, address, *numbers = sys.argv[1:]
    if verb == "serve":
        return serve(address, int(numbers[0]))
    times = ask(address, *map(int, numbers))
    at = {name: times[int(len(times) * part)] for name, part in (("p50_us", 0.5), ("p99_us", 0.99))}
    return print(json.dumps({name: round(value, 1) for name, value in at.items()}))


if __name__ == "__main__":
    main()
