"""What a database has to do anyway: pgbench's TPC-B-like transactions, in tables of their own."""

from pathlib import PurePath

from bench.generators import Figures, Load, pgbench
from bench.hosts.host import Command
from bench.request_logs import RequestLogs
from bench.site import Site

REQUEST = "oltp"
BUILTIN = "tpcb-like"
# A million accounts.
SCALE = 10


def command(site: Site, load: Load, log: PurePath) -> tuple[Command, dict[str, str]]:
    """pgbench, which asks PostgreSQL itself; the tables are made at the first need of them."""
    database = site.database
    database.make_accounts(SCALE)
    program = pgbench.Program(database.program("pgbench"), "simple", site.client_cores)
    return pgbench.command(program, BUILTIN, load, log), database.environment()


def parse(output: str, logs: RequestLogs, log: PurePath, load: Load) -> Figures:
    """Transactions, not one of which may have failed."""
    return pgbench.parse(output, logs.figures("pgbench", log, load), load.warm_up)
