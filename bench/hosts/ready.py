"""`python -m bench.hosts.ready ADDRESS PORT PID [PATH]`: waits on a server's own host until it answers.

It answers when it accepts a connection; with a path, when GET of it has the status 200, for Gunicorn
accepts before any worker is there. The answer is `true`, or `false` where the server
ended or took longer than a minute.
"""

import contextlib
import json
import socket
import sys
import time

from bench import processes

SECONDS = 60


def _answers(address: str, port: int, path: str | None) -> bool:
    with contextlib.suppress(OSError), socket.create_connection((address, port), 5.0) as connection:
        if path is None:
            return True
        connection.sendall(f"GET {path} HTTP/1.0\r\n\r\n".encode())
        return connection.recv(64).startswith((b"HTTP/1.0 200", b"HTTP/1.1 200"))
    return False


def wait(address: str, port: int, pid: int, path: str | None = None) -> bool:
    """Whether it came to answer."""
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline and processes.began(pid):
        if _answers(address, port, path):
            return True
        time.sleep(0.05)
    return False


if __name__ == "__main__":
    print(json.dumps(wait(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:])))
