"""Starts the servers that the comparison needs beside PostgreSQL, each ready when it returns.

All listen on their host's own address at a free port, with a configuration of their own
in a directory of the harness; a Redis or PgBouncer of the system is never used.
"""

from dataclasses import dataclass
from pathlib import PurePath

from bench.hosts import CommandFailed, Host, Service
from python_baseline import modes
from python_baseline.settings import Settings


@dataclass(frozen=True)
class Listening:
    """A server that accepts connections."""

    service: Service
    address: str
    port: int


def _wait(service: Service, port: int, path: str | None = None) -> Listening:
    """The server when it answers, to GET of the path where there is one."""
    host = service.host
    wanted = [host.address, port, service.pid, *([path] if path else [])]
    try:
        if host.module("bench.hosts.ready", *wanted):
            return Listening(service, host.address, port)
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
    return _wait(host.start("redis-server", command, directory / "redis.log"), port)


def start_gunicorn(
    host: Host, directory: PurePath, mode: str, settings: Settings, port: int | None = None
) -> Listening:
    """The microservice in one of its modes, with a worker that has answered."""
    port = port or host.free_port()
    command, environment = modes.command(mode, f"{host.address}:{port}", settings)
    # The command is this Python's and this repository's; the host has its own of both.
    command[0], environment["PYTHONPATH"] = host.python, str(host.root)
    service = host.start(f"gunicorn-{mode}", command, directory / f"{mode}.log", environment)
    return _wait(service, port, "/ping")


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


def pgbouncer_ini(pooled: Pooled, address: str, port: int, users: PurePath) -> str:
    """Its configuration, in transaction mode."""
    return (
        "[databases]\n"
        f"{pooled.dbname} = host={pooled.address} port={pooled.port} dbname={pooled.dbname}\n"
        "[pgbouncer]\n"
        f"listen_addr = {address}\nlisten_port = {port}\nunix_socket_dir =\n"
        f"auth_type = scram-sha-256\nauth_file = {users}\n"
        f"pool_mode = transaction\ndefault_pool_size = {pooled.pool}\nmax_client_conn = 200\n"
        "log_connections = 0\nlog_disconnections = 0\n"
        + ("max_prepared_statements = 200\n" if pooled.prepared else "")
    )


def start_pgbouncer(
    host: Host, directory: PurePath, pooled: Pooled, owner: str | None
) -> tuple[Listening, str]:
    """PgBouncer, and its configuration; run by `owner` where this is root, whom it refuses."""
    port = host.free_port()
    users, configuration = directory / "users.txt", directory / "pgbouncer.ini"
    text = pgbouncer_ini(pooled, host.address, port, users)
    host.write(users, f'"{pooled.user}" "{pooled.password}"\n', owner)
    host.write(configuration, text, owner)
    command = ["pgbouncer", str(configuration)]
    service = host.start("pgbouncer", command, directory / "pgbouncer.log", user=owner)
    return _wait(service, port), text
