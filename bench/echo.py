"""The round trip between two hosts: one byte there and back over TCP, some thousand times.

By Python on either side, so each time holds two wake-ups of a waiting process too, as every request's does.
"""

import socket
import threading
import time

SAMPLES = 2_000
WARM_UP = 200


def serve(address: str) -> int:
    """Echoes to the first that connects, until that has gone; the port."""
    server = socket.create_server((address, 0))

    def echo() -> None:
        with server, server.accept()[0] as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while byte := connection.recv(1):
                connection.send(byte)

    threading.Thread(target=echo, daemon=True).start()
    return server.getsockname()[1]


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
