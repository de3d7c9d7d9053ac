"""A random machine: whatever is renamed, dropped, granted and loaded, each role reads its own models alone.

Two owners, a grantee, a loader, a stranger and a role that comes and goes, in sessions at every isolation
level, with cursors and prepared statements, some through a PgBouncer that discards all between transactions,
some on a standby. Changes are committed one by one, together, or in two phases. After each step a session
reads, and what it must read is worked out by `identities.Registry`, which never asks the server.
"""

import hashlib
import os
import random
from collections import Counter, deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.conftest import SETTINGS
from tests.connections import Connect, closed_after
from tests.extension.lifecycle.conftest import PREFERRED_PORT, STATE
from tests.extension.lifecycle.models import constant
from tests.extension.lifecycle.test_standby import replayed
from tests.extension.long.identities import (
    EXTENSION_OWNER,
    READ_ONLY,
    SERIALIZATION,
    Refused,
    Registry,
    Rows,
)
from tests.extension.long.pooler import Pooler
from tests.state import TIMES
from tools.cluster import Cluster, start, stop
from tools.cluster.server import follow, stop_server

STEPS = 300 * TIMES
SEED = int(os.environ.get("PGBOOST_SEED", "1"))
NAMES = ("a", "b", "c", "d")
ALIASES = ("best", "next")
# The last one is dropped and made again.
OWNERS, OTHERS, PASSING = ("ann", "bob"), ("gil", "lou", "sam"), "tom"
GRANTEES = (*OTHERS, "public", PASSING)
WRITERS = (*OWNERS, "lou", EXTENSION_OWNER)
# Two of each, so that transactions change backends.
POOLED = ("ann", "ann", "gil", "gil")
ON_STANDBY = ("bob", "sam", EXTENSION_OWNER)
LEVELS = ("READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE")
# The methods of `identities.Registry` that change it: how often, and the same call in SQL.
CHANGES: dict[str, tuple[float, Callable[..., tuple[str, tuple]]]] = {
    "load": (4, lambda n, v, d: ("load_model(%s, %s, deploy => %s)", (n, constant(v), d))),
    "rename": (3, lambda n, new: ("rename_model(%s, %s)", (n, new))),
    "drop": (1.5, lambda n: ("drop_model(%s)", (n,))),
    "drop_version": (1, lambda n, v: ("drop_model(%s)", (f"{n}@{v}",))),
    "deploy": (3, lambda n, v: ("deploy_model(%s)", (f"{n}@{v}",))),
    "rollback": (2, lambda n: ("rollback_model(%s)", (n,))),
    "set_alias": (2, lambda n, v, alias: ("set_alias(%s, %s)", (f"{n}@{v}", alias))),
    "drop_alias": (1, lambda n, alias: ("drop_alias(%s)", (f"{n}@{alias}",))),
    "set_baseline": (1, lambda n, v, rows: ("set_baseline(%s, %s)", (f"{n}@{v}", baseline(rows)))),
    "grant": (3, lambda n, role, p: ("grant_model(%s, %s, %s)", (n, role, p))),
    "revoke": (3, lambda n, role, p: ("revoke_model(%s, %s, %s)", (n, role, p))),
    "set_owner": (1.5, lambda n, role: ("set_model_owner(%s, %s)", (n, role))),
}


def baseline(rows: int) -> str:
    return f"SELECT i AS f1 FROM generate_series(1, {rows}) AS i"


def attempt(run: Callable[[], Any]) -> Any:
    """The result, or the SQLSTATE of the error."""
    try:
        return run()
    except psycopg.Error as error:
        return error.sqlstate
    except Refused as refused:
        return refused.args[0]


class Session:
    """A role's connection, which only reads: the state of its transaction and of its cursor."""

    PREPARE = "PREPARE predicted (text) AS SELECT predict($1, 1)"

    def __init__(
        self, connection: psycopg.Connection, user: str, *, pooled: bool = False,
        primary: psycopg.Connection | None = None,
    ) -> None:  # fmt: skip
        self.connection, self.user, self.pooled = connection, user, pooled
        # That of the server which this session's follows.
        self.primary = primary
        self.level: str | None = None
        self.rows: Rows | None = None
        # Its snapshot, the model that it names, and its rows so far.
        self.cursor: tuple[Rows, str, Any] | None = None
        # psycopg would deallocate all prepared statements when a transaction rolls back.
        connection.prepare_threshold = None
        if not pooled:
            connection.execute(self.PREPARE)

    def __str__(self) -> str:
        place = "pooled " if self.pooled else "standby " if self.primary else ""
        return f"{place}{self.user} at {self.level}"

    def has_prepared(self) -> bool:
        """Whether the backend has the prepared statement, which PgBouncer discards after a transaction."""
        return self.level is not None or not self.pooled

    def follow(self) -> None:
        """Returns once a standby has replayed all that was committed."""
        if self.primary:
            replayed(self.primary, self.connection)

    def begin(self, level: str, registry: Registry) -> None:
        self.follow()
        prepare = f"{self.PREPARE};" if self.pooled else ""
        self.connection.execute(f"BEGIN ISOLATION LEVEL {level}; {prepare} SELECT 1")
        self.level = level
        self.rows = None if level == LEVELS[0] else registry.snapshot()

    def end(self, how: str) -> None:
        self.connection.execute(how)
        self.level = self.rows = self.cursor = None

    def answer(self, query: str, parameters: tuple = ()) -> Any:
        """The rows of a query, or its SQLSTATE; a transaction goes on."""
        self.follow()
        if self.level:
            self.connection.execute("SAVEPOINT s")
        found = attempt(lambda: self.connection.execute(query, parameters).fetchall())
        if self.level:
            self.connection.execute("ROLLBACK TO s" if isinstance(found, str) else "RELEASE s")
        return found


class Machine:
    """The server, the registry outside of it, and the sessions."""

    def __init__(self, connect: Connect, pooled: Connect, standby: Connect, seed: int) -> None:
        self.random = random.Random(seed)
        self.registry = Registry(roles={*OWNERS, *OTHERS, PASSING})
        self.admin = connect(EXTENSION_OWNER)
        self.writers = {user: connect(user) for user in WRITERS}
        for writer in self.writers.values():
            writer.execute("SET pgboost.track_predictions = on")
        users = (*OWNERS, *OWNERS, *OTHERS, *OTHERS, EXTENSION_OWNER)
        self.sessions = [
            *(Session(connect(user), user) for user in users),
            *(Session(pooled(user), user, pooled=True) for user in POOLED),
            *(Session(standby(user), user, primary=self.admin) for user in ON_STANDBY),
        ]
        self.passing = Session(connect(EXTENSION_OWNER), PASSING)
        self.number = self.passing_number()
        self.next_value = 0
        self.counts: Counter[str] = Counter()
        self.log: deque[str] = deque(maxlen=40)

    def passing_number(self) -> int:
        return self.admin.execute("SELECT %s::regrole::oid", (PASSING,)).fetchone()[0]

    def check(self, what: str, found: Any, expected: Any) -> None:
        self.log.append(f"{what}: {found}")
        self.counts[what.partition("(")[0].partition(" ")[0]] += 1
        self.counts["refused" if isinstance(found, str) else "answered"] += 1
        assert found == expected, "\n".join([*self.log, f"expected {expected}"])

    def wanted(self) -> int | str | None:
        kind = self.random.random()
        if kind < 0.5:
            return None
        return self.random.choice(ALIASES) if kind < 0.7 else self.random.randint(1, 4)

    # Reading.

    def expected(self, kind: str, rows: Rows, user: str, name: str, wanted: Any) -> Any:
        """The expected result of a call of that kind for a user under a snapshot."""
        registry = self.registry
        model, number = registry.read(rows, user, name, wanted, as_owner=kind == "export_model")
        version = model.versions[number]
        if kind == "feature_baseline" and not registry.may_inspect(user, model.uid):
            raise Refused("42501")
        match kind:
            case "model_info":
                return [(number, constant_digest(version.value))]
            case "export_model":
                return [(constant(version.value),)]
            case "feature_baseline":
                return [(version.baseline_rows,)] if version.baseline_rows else []
            case "predict_margin":
                return [([version.value],)]
            case "model_features":
                return [("f1",)]
            case _:
                return [(version.value,)]

    QUERIES = {  # noqa: RUF012
        "predict": "SELECT predict(%s, 1)",
        "predicted": "SELECT predict(%s, 1)",
        "predict_margin": "SELECT predict_margin(%s, 1)",
        "model_info": "SELECT (i ->> 'version')::int, i ->> 'sha256' FROM model_info(%s) AS i",
        "model_features": "SELECT feature FROM model_features(%s)",
        "feature_baseline": "SELECT rows FROM feature_baseline(%s)",
        "export_model": "SELECT export_model(%s)",
    }

    def read(self, session: Session) -> None:
        """A session reads a model, by whichever function."""
        kind, name = self.random.choice(list(self.QUERIES)), self.random.choice(NAMES)
        wanted = self.wanted()
        reference = name if wanted is None else f"{name}@{wanted}"
        rows = session.rows if session.rows is not None else self.registry.rows
        if kind == "predicted" and session.has_prepared():
            found = session.answer(f"EXECUTE predicted ('{reference}')")
        else:
            found = session.answer(self.QUERIES[kind], (reference,))
        expected = attempt(lambda: self.expected(kind, rows, session.user, name, wanted))
        self.check(f"{kind}({reference}) by {session}", found, expected)

    def read_views(self, session: Session) -> None:
        rows = session.rows if session.rows is not None else self.registry.rows
        registry, user = self.registry, session.user
        seen = {name: m for name, m in rows.items() if registry.may_predict(user, m.uid)}
        models = sorted(
            (name, number, number == model.deployed, registry.owner(model.uid))
            for name, model in seen.items()
            for number in model.versions
        )
        found = session.answer("SELECT name, version, deployed, owner::text FROM pgboost_models")
        self.check(f"pgboost_models by {session}", sorted(found), models)
        aliases = sorted((name, a, v) for name, m in seen.items() for a, v in m.aliases.items())
        found = session.answer("SELECT name, alias, version FROM pgboost_aliases")
        self.check(f"pgboost_aliases by {session}", sorted(found), aliases)
        deployments = sorted(
            (name, number, version)
            for name, model in seen.items()
            for number, (version, _) in enumerate(model.history, 1)
        )
        found = session.answer("SELECT name, number, version FROM pgboost_deployments")
        self.check(f"pgboost_deployments by {session}", sorted(found), deployments)
        # A standby counts for itself, and nothing is counted there.
        here = {} if session.primary else registry.counted
        counted = sorted(
            (name, number, here.get((model.uid, number), 0))
            for name, model in seen.items()
            for number in model.versions
        )
        found = session.answer("SELECT name, version, rows FROM pg_stat_pgboost")
        self.check(f"pg_stat_pgboost by {session}", sorted(found), counted)

    def declare(self, session: Session) -> None:
        name = self.random.choice(NAMES)
        session.follow()
        call = f"SELECT predict('{name}', i % 2) FROM generate_series(1, 1000) AS i"
        session.connection.execute(
            f"SET LOCAL pgboost.enable_batch = off; DECLARE c CURSOR FOR {call}"
        )
        rows = session.rows if session.rows is not None else self.registry.snapshot()
        session.cursor = (rows, name, None)

    def fetch(self, session: Session) -> None:
        """A cursor that has answered is a statement that is running: a revoke may act on it or not."""
        assert session.cursor
        rows, name, before = session.cursor
        found = session.answer("FETCH 1 FROM c")
        expected = attempt(lambda: self.expected("predict", rows, session.user, name, None))
        if before is not None and found == before:
            expected = before
        self.check(f"fetch({name}) by {session}", found, expected)
        if isinstance(found, str):
            session.connection.execute("CLOSE c")
            session.cursor = None
        else:
            session.cursor = (rows, name, found)

    def use(self, session: Session) -> None:
        """A session goes one step on, and then reads."""
        self.counts["pooled"] += session.pooled
        self.counts["standby"] += session.primary is not None
        chance = self.random.random()
        if session.level is None:
            if chance < 0.5:
                # A standby has no SERIALIZABLE.
                levels = LEVELS[:2] if session.primary else LEVELS
                session.begin(self.random.choice(levels), self.registry)
        elif chance < 0.15:
            session.end(self.random.choice(("COMMIT", "ROLLBACK")))
        elif chance < 0.2 and session.level == LEVELS[1]:
            self.write_by_old_snapshot(session)
        elif chance < 0.4 and session.cursor is None:
            self.declare(session)
        if session.cursor and self.random.random() < 0.7:
            self.fetch(session)
        elif self.random.random() < 0.2:
            self.read_views(session)
        else:
            self.read(session)

    def write_by_old_snapshot(self, session: Session) -> None:
        """A change of a model that has changed since the snapshot fails, and leaves nothing behind.

        Not at SERIALIZABLE, where it depends on what other sessions have read too.
        """
        name, role = self.random.choice(NAMES), self.random.choice(OTHERS)
        rows, registry = session.rows, self.registry
        assert rows is not None

        def expected() -> list:
            if session.primary:
                raise Refused(READ_ONLY)
            if name not in rows:
                raise Refused("42704")
            model = rows[name]
            if not registry.owns(session.user, model.uid):
                raise Refused("42501")
            now = next((m for m in registry.rows.values() if m.uid == model.uid), None)
            if now is None or now.changes != model.changes:
                raise Refused(SERIALIZATION)
            # Rows of any model that DROP OWNED left without effect are deleted at any time since, and by who
            # names their role again.
            if found == SERIALIZATION and registry.losses:
                raise Refused(SERIALIZATION)
            registry.privileges[model.uid].granted.add(role)
            now.changes += 1
            return [("",)]

        found = session.answer("SELECT grant_model(%s, %s)", (name, role))
        self.check(f"old_grant({name}, {role}) by {session}", found, attempt(expected))
        session.end("COMMIT")

    def read_as_passing(self) -> None:
        """The role that comes and goes reads, if it is there."""
        if PASSING in self.registry.roles:
            session, rows = self.passing, self.registry.rows
            session.connection.execute(f"SET ROLE {PASSING}")
            name = self.random.choice(NAMES)
            found = session.answer(self.QUERIES["predict"], (name,))
            expected = attempt(lambda: self.expected("predict", rows, PASSING, name, None))
            self.check(f"predict({name}) by {PASSING}", found, expected)
            self.read_views(session)
            session.connection.execute("RESET ROLE")

    # Writing.

    def arguments(self, change: str) -> tuple:
        """Random arguments of a method of the registry, after the user and the model's name."""
        pick, version = self.random.choice, self.random.randint(1, 4)
        self.next_value += 1
        return {
            "load": lambda: (self.next_value, self.random.random() < 0.8),
            "rename": lambda: (pick(NAMES),),
            "rollback": tuple,
            "drop": tuple,
            "drop_version": lambda: (version,),
            "deploy": lambda: (pick((version, *ALIASES)),),
            "set_alias": lambda: (version, pick(ALIASES)),
            "drop_alias": lambda: (pick(ALIASES),),
            "set_baseline": lambda: (version, self.random.randint(2, 9)),
            "set_owner": lambda: (pick((*OWNERS, PASSING)),),
            "grant": lambda: (pick(GRANTEES), pick(("predict", "inspect"))),
            "revoke": lambda: (pick(GRANTEES), pick(("predict", "inspect"))),
        }[change]()

    def change(self, registry: Registry, user: str) -> None:
        """A random change by a user, on the server and on the registry outside of it."""
        method = self.random.choices(list(CHANGES), [weight for weight, _ in CHANGES.values()])[0]
        arguments = (self.random.choice(NAMES), *self.arguments(method))
        connection = self.writers[user]
        call, parameters = CHANGES[method][1](*arguments)
        in_transaction = connection.info.transaction_status == psycopg.pq.TransactionStatus.INTRANS
        if in_transaction:
            connection.execute("SAVEPOINT w")

        def run() -> int | None:
            return connection.execute(f"SELECT {call}", parameters).fetchone()[0] or None

        found = attempt(run)
        if in_transaction:
            connection.execute("ROLLBACK TO w" if isinstance(found, str) else "RELEASE w")
        expected = attempt(lambda: getattr(registry, method)(user, *arguments))
        self.check(f"{method}{arguments} by {user}", found, expected)

    def write(self) -> None:
        """A single change, or several that commit or roll back together."""
        user = self.random.choice(WRITERS)
        if self.random.random() < 0.7:
            self.change(self.registry, user)
            return
        within, connection = Registry(**vars(self.registry)), self.writers[user]
        within.rows, within.privileges = self.registry.snapshot(), copied(self.registry.privileges)
        within.counted = dict(self.registry.counted)
        connection.execute("BEGIN")
        for _ in range(self.random.randint(1, 4)):
            self.change(within, user)
        ending = ""
        if self.random.random() < 0.4:
            connection.execute("PREPARE TRANSACTION 'changes'")
            connection, ending = self.admin, " PREPARED 'changes'"
            self.counts["prepared"] += 1
        # Nobody else sees it yet.
        self.read(self.random.choice(self.sessions))
        if self.random.random() < 0.6:
            connection.execute(f"COMMIT{ending}")
            self.registry = within
        else:
            connection.execute(f"ROLLBACK{ending}")
            self.registry.next_uid = within.next_uid

    def count(self) -> None:
        """A prediction that is counted."""
        user, name = self.random.choice(WRITERS), self.random.choice(NAMES)
        connection, registry = self.writers[user], self.registry
        found = attempt(lambda: connection.execute("SELECT predict(%s, 1)", (name,)).fetchall())
        expected = attempt(lambda: self.expected("predict", registry.rows, user, name, None))
        self.check(f"counted({name}) by {user}", found, expected)
        if not isinstance(found, str):
            model, version = registry.read(registry.rows, user, name, None)
            registry.counted[model.uid, version] = registry.counted.get((model.uid, version), 0) + 1

    def change_roles(self) -> None:
        """The passing role is dropped or made; now and then a later one has the number of a dropped one."""
        registry, admin = self.registry, self.admin
        if PASSING not in registry.roles:
            admin.execute(f"CREATE ROLE {PASSING}")
            registry.roles.add(PASSING)
            old, self.number = self.number, self.passing_number()
            if self.random.random() < 0.5:
                self.log.append("the number of the dropped role is that of the later one")
                trigger = "ALTER TABLE pgboost_catalog.privilege {} TRIGGER role_named"
                admin.execute(trigger.format("DISABLE"))
                admin.execute(
                    "UPDATE pgboost_catalog.privilege SET role = %s::oid WHERE role = %s::oid",
                    (self.number, old),
                )
                admin.execute(trigger.format("ENABLE ALWAYS"))
                registry.losses += 1
            return
        if self.random.random() < 0.4:
            admin.execute(f"DROP OWNED BY {PASSING}")
            registry.drop_owned(PASSING)
        found = attempt(lambda: admin.execute(f"DROP ROLE {PASSING}") and None)
        self.check(f"drop_role({PASSING})", found, attempt(lambda: registry.drop_role(PASSING)))

    def drop_owned(self) -> None:
        """An owner loses all its models to the extension's owner; its sessions go on."""
        role = self.random.choice((*OWNERS, *OTHERS))
        self.admin.execute(f"DROP OWNED BY {role}")
        self.registry.drop_owned(role)
        self.admin.execute(privileges_of(role))
        self.log.append(f"drop_owned({role})")

    def step(self) -> None:
        kind = self.random.random()
        if kind < 0.35:
            self.write()
        elif kind < 0.39:
            self.change_roles()
        elif kind < 0.395:
            self.drop_owned()
        elif kind < 0.45:
            self.count()
        if self.random.random() < 0.1:
            self.read_as_passing()
        self.use(self.random.choice(self.sessions))


def copied(privileges: dict) -> dict:
    return {
        uid: type(p)(p.owner, set(p.granted), set(p.inspecting)) for uid, p in privileges.items()
    }


def constant_digest(value: int) -> str:
    return hashlib.sha256(constant(value)).hexdigest()


def privileges_of(role: str) -> str:
    execute = f"GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA public TO {role}"
    return f"{execute}; GRANT SET ON PARAMETER pgboost.track_predictions TO {role}"


@pytest.fixture(scope="module")
def server() -> Iterator[Cluster]:
    """A server with two-phase commits, and the roles."""
    stop(STATE, delete=True)
    running, _ = start(STATE, PREFERRED_PORT, {**SETTINGS, "log_error_verbosity": "verbose"})
    with running.connect() as admin:
        admin.execute("CREATE EXTENSION pgboost")
        for role in (*OWNERS, *OTHERS, PASSING):
            admin.execute(f"CREATE ROLE {role} LOGIN")
            if role != PASSING:
                admin.execute(privileges_of(role))
    yield running
    stop(STATE, delete=True)


@pytest.fixture(scope="module")
def standby(server: Cluster) -> Iterator[Cluster]:
    # With feedback, a snapshot there keeps the rows that it sees.
    added = {
        "listen_addresses": "",
        "hot_standby_feedback": "on",
        "log_error_verbosity": "verbose",
        **SETTINGS,
    }
    copy = follow(server, Path(server.place.home, "standby"), added)
    yield copy
    stop_server(copy, "immediate")


@pytest.fixture
def pooled(server: Cluster) -> Iterator[Connect]:
    settings = {"default_pool_size": 2, "server_reset_query_always": 1}
    pooler = Pooler(server, "postgres", sorted({*POOLED}), "transaction", settings)
    yield pooler.connect
    pooler.stop()


def test_each_role_reads_as_the_registry_outside_says(
    server: Cluster, standby: Cluster, pooled: Connect
) -> None:
    with (
        closed_after(lambda user: server.connect(user=user)) as connect,
        closed_after(lambda user: standby.connect(user=user)) as connect_standby,
    ):
        machine = Machine(connect, pooled, connect_standby, SEED)
        for _ in range(STEPS):
            machine.step()
    counts = machine.counts
    print(f"seed {SEED}, {STEPS} steps: {dict(counts)}")
    assert counts["answered"] > STEPS // 10
    assert counts["refused"] > STEPS // 10
    assert counts["prepared"] > STEPS // 100
    assert min(counts["pooled"], counts["standby"]) > STEPS // 20
    for server_ in (server, standby):
        assert ":  XX" not in server_.place.log.read_text(errors="replace")
