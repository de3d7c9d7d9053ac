"""The caller held against the load generators that everybody knows: pgbench, and wrk, on three cells.

One client each, the same question, in turn; what is compared is the mean latency. The caller is Go's, so that
it takes some microseconds more than a program in C; the page says how many.
"""

from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from bench.attempts import Attempts
from bench.database import Database
from bench.generators import Figures, Load, pgbench, wrk
from bench.hosts import CommandFailed, Host
from bench.ladder.servers import Servers
from bench.rungs import Rung, described
from bench.turns import in_turn

# A rung, its verb, and pgbench's word for the protocol; without one it is asked by wrk.
CELLS = (
    ("pg_simple", "key", "simple"),
    ("pg_prepared", "key", "prepared"),
    ("http_fastapi", "ping", None),
)
LOAD = Load(clients=1, seconds=1, seed=0)
REPETITIONS = 5
PLANNED_SECONDS = 2.0 * len(CELLS) * 1.3 * (REPETITIONS + 1)


def _by_caller(servers: Servers, rung: Rung, verb: str) -> float:
    return servers.asked(rung, verb, LOAD).latency_ms["mean"]


def _by_pgbench(servers: Servers, protocol: str) -> float:
    host, database, name = servers.host, servers.database, servers.name
    columns = (
        "SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute"
        " WHERE attrelid = %s::regclass AND attnum > 1"
    )
    predict = f"predict('{name}', {database.one(columns, name)})::real"
    count = database.one(f"SELECT count(*) FROM {name}")
    script = Path(servers.directory, "key.sql")
    script.write_text(
        f"\\set id random(1, {count})\nSELECT {predict} FROM {name} WHERE id = :id;\n"
    )
    used = pgbench.Program(database.program("pgbench"), protocol, servers.cores)
    environment = database.environment() | {"PGHOST": str(database.home / "sockets")}
    said = host.ask(
        "timed", command=host.words(pgbench.command(used, [script], LOAD, None)),
        environment=environment,
    )["output"]  # fmt: skip
    return pgbench.parse(said, Figures(0, 0.0, {})).latency_ms["mean"]


def _by_wrk(servers: Servers, rung: Rung, verb: str) -> float:
    url = f"http://{servers.question(rung, verb, 1).address}/{verb}"
    body = Path(servers.directory, "body.json")
    body.write_text("[]")
    said = servers.host.run(wrk.command(url, body, LOAD, servers.cores))
    return wrk.parse(said, LOAD.clients).latency_ms["mean"]


def checked(servers: Servers, chosen: list[Rung], attempts: Attempts) -> list[dict[str, Any]]:
    """Mean latencies in ms by both, of the cells whose rungs run."""
    found = []
    for name, verb, protocol in CELLS:
        rung = described()[name]
        if rung not in chosen or name in attempts.failed:
            continue
        other = partial(_by_pgbench, servers, protocol) if protocol else None
        both = {
            "caller": partial(_by_caller, servers, rung, verb),
            "other": other or partial(_by_wrk, servers, rung, verb),
        }
        by = "pgbench" if protocol else "wrk"
        part = partial(in_turn, both, REPETITIONS, warm_ups=1)
        planned = PLANNED_SECONDS / len(CELLS)
        if values := attempts.make(f"{name}/{verb} by {by}", part, planned):
            attempts.say(f"{servers.name}/{name}/{verb}: asked by the caller and by {by}")
            found.append({"rung": name, "verb": verb, "by": by, "latency_ms": values})
    return found


def versions(host: Host, database: Database | None) -> dict[str, str]:
    """Of what the rungs are made of, as far as it can be asked."""
    found = host.call(
        "bench.machine:packages", names=["flask", "gunicorn", "fastapi", "uvicorn", "scikit-learn"]
    )
    asked = {"go": ("go", "env", "GOVERSION"), "grpc++": ("pkg-config", "--modversion", "grpc++")}
    if database:
        found["postgresql"] = database.one("SHOW server_version")
        asked["pgbouncer"] = ("pgbouncer", "--version")
    for name, command in asked.items():
        with suppress(CommandFailed):
            found[name] = host.run(command).splitlines()[0].split()[-1]
    return found
