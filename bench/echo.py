"""The round trip between two hosts: one byte there and back over TCP, some thousand times.

By Python on either side, so each time holds two wake-ups of a waiting process too, as every request's does.
"""

import contextlib
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


def ask(address: str, port: int) -> list[float]:
    """The median and the 99th percentile, in microseconds."""
    with socket.create_connection((address, port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        found = []
        for _ in range(WARM_UP + SAMPLES):
            began = time.perf_counter_ns()
            connection.send(b"x")
            connection.recv(1)
            found.append((time.perf_counter_ns() - began) / 1e3)
    times = sorted(found[WARM_UP:])
    return [round(times[int(SAMPLES * part)], 1) for part in (0.5, 0.99)]


def round_trip(source: Host, target: Host, delay: float | None = None) -> RoundTrip:
    """Measures from one host to another, at the delay that is set."""
    port = target.free_port()
    command = [target.python, "-m", "bench.echo", target.address, str(port)]
    service = target.start(command, target.directory / "echo.log")
    try:
        address, port = service.ready(port)
        p50, p99 = source.call("bench.echo:ask", address=address, port=port)
    finally:
        service.stop()
    return RoundTrip(source.name, target.name, "tcp", delay, p50, p99, SAMPLES)


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]))
