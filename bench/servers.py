"""Starts the servers that the comparison needs beside PostgreSQL, each ready when it returns.

All listen on the host's own address at a free port, with a configuration of their own
in a directory of the harness; a Redis or PgBouncer of the system is never used.
"""

import contextlib
import shutil
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.hosts import CommandFailed, LocalHost, Service
from python_baseline import modes
from python_baseline.settings import Settings

START_SECONDS = 60


@dataclass(frozen=True)
class Listening:
    """A server that accepts connections."""

    service: Service
    address: str
    port: int


def _wait(host: LocalHost, service: Service, port: int) -> Listening:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        service.check_alive()
        with contextlib.suppress(OSError), socket.create_connection((host.address, port), 1.0):
            return Listening(service, host.address, port)
        time.sleep(0.05)
    host.stop(service)
    raise CommandFailed(f"{service.name} does not answer:\n{service.last_words()}")


def start_redis(host: LocalHost, directory: Path, port: int | None = None) -> Listening:
    """A Redis that keeps everything in memory and writes nothing to disk."""
    directory.mkdir(parents=True, exist_ok=True)
    port = port or host.free_port()
    command = [
        "redis-server", "--bind", host.address, "--port", str(port), "--dir", directory,
        "--save", "", "--appendonly", "no", "--protected-mode", "yes",
    ]  # fmt: skip
    service = host.start("redis-server", command, directory / "redis.log")
    return _wait(host, service, port)


def start_gunicorn(
    host: LocalHost, directory: Path, mode: str, settings: Settings, port: int | None = None
) -> Listening:
    """The microservice in one of its modes, with a worker that has answered."""
    directory.mkdir(parents=True, exist_ok=True)
    port = port or host.free_port()
    command, environment = modes.command(mode, f"{host.address}:{port}", settings)
    service = host.start(f"gunicorn-{mode}", command, directory / f"{mode}.log", environment)
    listening = _wait(host, service, port)
    try:
        _wait_for_answer(listening)
    except BaseException:
        host.stop(service)
        raise
    return listening


def _wait_for_answer(listening: Listening) -> None:
    """The socket accepts before any worker is there, so one must answer."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        listening.service.check_alive()
        with contextlib.suppress(OSError), _connection(listening) as connection:
            connection.sendall(b"GET /ping HTTP/1.0\r\n\r\n")
            if connection.recv(64).startswith((b"HTTP/1.0 200", b"HTTP/1.1 200")):
                return
        time.sleep(0.1)
    raise CommandFailed(f"no worker answers:\n{listening.service.last_words()}")


@contextlib.contextmanager
def _connection(listening: Listening) -> Iterator[socket.socket]:
    with socket.create_connection((listening.address, listening.port), 5.0) as connection:
        yield connection


@dataclass(frozen=True)
class Pooled:
    """The database behind PgBouncer, and who may use it."""

    address: str
    port: int
    dbname: str
    user: str
    password: str
    pool: int
    # Whether prepared statements may pass, from 1.21 on.
    prepared: bool


def start_pgbouncer(
    host: LocalHost, directory: Path, pooled: Pooled, owner: str | None
) -> Listening:
    """PgBouncer in transaction mode, run by `owner` where this is root, whom it refuses."""
    directory.mkdir(parents=True, exist_ok=True)
    port = host.free_port()
    users = directory / "users.txt"
    users.touch(mode=0o600)
    users.write_text(f'"{pooled.user}" "{pooled.password}"\n')
    configuration = directory / "pgbouncer.ini"
    configuration.write_text(
        "[databases]\n"
        f"{pooled.dbname} = host={pooled.address} port={pooled.port} dbname={pooled.dbname}\n"
        "[pgbouncer]\n"
        f"listen_addr = {host.address}\nlisten_port = {port}\nunix_socket_dir =\n"
        f"auth_type = scram-sha-256\nauth_file = {users}\n"
        f"pool_mode = transaction\ndefault_pool_size = {pooled.pool}\nmax_client_conn = 200\n"
        "log_connections = 0\nlog_disconnections = 0\n"
        + ("max_prepared_statements = 200\n" if pooled.prepared else "")
    )
    log = directory / "pgbouncer.log"
    log.touch()
    if owner:
        for path in (directory, users, configuration, log):
            shutil.chown(path, owner, owner)
    service = host.start("pgbouncer", ["pgbouncer", configuration], log, user=owner)
    return _wait(host, service, port)
