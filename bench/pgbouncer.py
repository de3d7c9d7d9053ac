"""Starts a PgBouncer before the comparison's PostgreSQL: it pools transactions, and logs no connections.

Its files are in a folder of the cluster's home, and it runs as the cluster's owner: root it refuses.
"""

from collections.abc import Mapping

from bench.database import Database
from bench.hosts import Host, Service


def started(
    host: Host, database: Database, place: str, hosts: str, settings: Mapping[str, object]
) -> tuple[Service, list[str]]:
    """The service, and the lines of its file; `hosts` are the servers', as libpq writes them."""
    directory = database.home / place
    users, ini = directory / "users.txt", directory / "pgbouncer.ini"
    known = {
        "auth_file": users,
        "pool_mode": "transaction",
        "log_connections": 0,
        "log_disconnections": 0,
    }
    where = f"host={hosts} port={database.at[1]} dbname={database.name}"
    lines = ["[databases]", f"{database.name} = {where}", "[pgbouncer]"]
    lines += [f"{name} = {value}".rstrip() for name, value in {**settings, **known}.items()]
    host.write(users, f'"{database.role}" "{database.password}"\n', database.owner)
    host.write(ini, "\n".join(lines) + "\n", database.owner)
    log = directory / "pgbouncer.log"
    return host.start(["pgbouncer", str(ini)], log, user=database.owner), lines
