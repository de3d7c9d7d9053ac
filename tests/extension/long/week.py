"""The connections of a stranger's week: each repeats one kind of work, and checks the answers.

A connection that is lost is opened again, on whichever server is there. Statements may be cancelled, and fail
while the disk is full; any other error that the ledgers do not expect ends the test.
"""

import random
import threading
import traceback
from collections import Counter
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import numpy as np
import psycopg
import xgboost as xgb

from tests.extension.long.answers import (
    COLUMNS,
    FILES,
    GUEST,
    NAMES,
    OF_ONE,
    OF_OWNER,
    ROWS,
    SHAPES,
    Answers,
    Ledger,
    is_right,
)
from tests.extension.long.identities import (
    EXTENSION_OWNER,
    IN_USE,
    SERIALIZATION,
    Refused,
    Registry,
)
from tests.extension.long.pooler import Pooler
from tests.extension.long.test_identities import CHANGES
from tools.cluster import Cluster

CANCELLED, DISK_FULL = "57014", "53100"
# PostgreSQL's own: of a full disk, and of DROP OWNED while a role is granted something.
CHECKPOINT_FAILED, CONCURRENTLY = "checkpoint request failed", "tuple concurrently updated"
KEPT_VERSIONS = 5


class Week:
    """The servers, and the state that all connections share."""

    def __init__(
        self, primary: Cluster, pooler: Pooler, answers: Answers, models: list[str]
    ) -> None:
        self.primary, self.pooler, self.answers = primary, pooler, answers
        self.standby: Cluster | None = None
        self.ledgers = {name: Ledger(name) for name in models}
        self.done = threading.Event()
        self.failures: list[str] = []
        self.counts: Counter[str] = Counter()

    def connect(self, place: str, user: str) -> psycopg.Connection:
        """Opens a connection to the primary or the standby, or by the pooler."""
        if place == "pool":
            return self.pooler.connect(user)
        server = self.primary if place == "primary" else self.standby
        if server is None:
            raise psycopg.OperationalError("there is no standby now")
        return server.connect(user=user)


class Worker(threading.Thread):
    """A connection that repeats its work."""

    place, user = "primary", EXTENSION_OWNER
    # Seconds between two steps, on average.
    pause = 0.1

    def __init__(self, week: Week, seed: int) -> None:
        super().__init__(name=f"{type(self).__name__} {seed}", daemon=True)
        self.week, self.random = week, random.Random(seed)
        self.connection: psycopg.Connection | None = None

    def run(self) -> None:
        try:
            while not self.week.done.wait(self.random.expovariate(1 / self.pause)):
                self._try()
        except BaseException:
            self.week.failures.append(f"{self.name}: {traceback.format_exc()}")
            self.week.done.set()
        finally:
            if self.connection:
                self.connection.close()

    def _try(self) -> None:
        try:
            if self.connection is None:
                self.connection = self._opened()
            self.step(self.connection)
            self.week.counts[type(self).__name__] += 1
        except psycopg.Error as error:
            if self.connection is None or self.is_lost():
                self.connection = None
                self.week.done.wait(0.2)
            elif self.is_tolerated(error):
                self.week.counts[str(error.sqlstate)] += 1
                self.connection.rollback()
            else:
                raise

    def _opened(self) -> psycopg.Connection:
        connection = self.week.connect(self.place, self.user)
        try:
            self.opened(connection)
        except psycopg.Error:
            connection.close()
            raise
        return connection

    def is_lost(self) -> bool:
        return self.connection is not None and (self.connection.closed or self.connection.broken)

    def is_tolerated(self, error: psycopg.Error) -> bool:
        # A standby cancels statements that keep it from replaying.
        on_standby = self.place == "standby" and error.sqlstate == SERIALIZATION
        return on_standby or error.sqlstate in (CANCELLED, DISK_FULL)

    def answer(self, run: Callable[[], Any]) -> Any:
        """The result, or the SQLSTATE of an error that the model may be the reason of."""
        try:
            return run()
        except psycopg.Error as error:
            if self.is_lost() or self.is_tolerated(error):
                raise
            return error.sqlstate

    def opened(self, connection: psycopg.Connection) -> None:
        """Prepares a new connection."""

    def step(self, connection: psycopg.Connection) -> None:
        """Does the work once."""
        raise NotImplementedError


class Writer(Worker):
    """Changes a model at random: one change or several, committed at once or in two phases."""

    pause = 0.4
    KINDS = (
        "load",
        "load",
        "deploy",
        "rollback",
        "set_alias",
        "drop_alias",
        "drop_version",
        "grant",
        "revoke",
        "set_owner",
    )

    def __init__(self, week: Week, seed: int, ledger: Ledger, *, drops: bool) -> None:
        super().__init__(week, seed)
        self.ledger, self.drops, self.number = ledger, drops, 0
        # The state before and after the changes that may have been committed.
        self.uncertain: tuple[Registry, Registry] | None = None
        self.gid = f"week {ledger.name}"

    def opened(self, connection: psycopg.Connection) -> None:
        """Finds out whether the last changes were committed."""
        connection.execute("SET application_name = 'writer'")
        prepared = "SELECT 1 FROM pg_prepared_xacts WHERE gid = %s"
        if connection.execute(prepared, (self.gid,)).fetchone():
            how = self.random.choice(("COMMIT", "ROLLBACK"))
            connection.execute(f"{how} PREPARED '{self.gid}'")
        if self.uncertain:
            before, after = self.uncertain
            query = "SELECT number FROM progress WHERE model = %s"
            (number,) = connection.execute(query, (self.ledger.name,)).fetchone()
            assert number in (self.number, self.number - 1)
            self.ledger.settle(after if number == self.number else deepcopy(before))
            self.number, self.uncertain = number, None

    def step(self, connection: psycopg.Connection) -> None:
        before = self.ledger.states[-1]
        after, calls = deepcopy(before), []
        for _ in range(self.random.choice((1, 1, 1, 2, 4))):
            kind, arguments = self._drawn(after)
            call = self._call(kind, arguments)
            try:
                result = getattr(after, kind)(EXTENSION_OWNER, self.ledger.name, *arguments)
            except Refused as refused:
                if calls:
                    continue
                found = self.answer(lambda call=call: connection.execute(*call).fetchall())
                assert found == refused.args[0], (kind, arguments, found)
                return
            calls.append((call, result))
        self.number += 1
        self.uncertain = before, after
        self.ledger.begin(after)
        try:
            self._commit(connection, calls)
        except psycopg.Error:
            # The next connection looks up whether the changes were committed.
            connection.close()
            raise
        self.ledger.settle(after)
        self.uncertain = None

    def _commit(self, connection: psycopg.Connection, calls: list) -> None:
        connection.execute("BEGIN")
        if self.random.random() < 0.1:
            connection.execute("SET LOCAL statement_timeout = '10ms'")
        for call, result in calls:
            (found,) = connection.execute(*call).fetchone()
            assert (found or None) == result, (call[0], found, result)
        connection.execute("SET LOCAL statement_timeout = 0")
        progress = "UPDATE progress SET number = %s WHERE model = %s"
        connection.execute(progress, (self.number, self.ledger.name))
        if self.random.random() < 0.7:
            connection.execute("COMMIT")
            return
        connection.execute(f"PREPARE TRANSACTION '{self.gid}'")
        self.week.done.wait(self.random.random() * 0.2)
        connection.execute(f"COMMIT PREPARED '{self.gid}'")

    def _call(self, kind: str, arguments: tuple) -> tuple[str, tuple]:
        if kind == "load":
            file, deploy = arguments
            content = self.week.answers.files[file]
            call = "SELECT load_model(%s, %s, deploy => %s)"
            return call, (self.ledger.name, content, deploy)
        call, parameters = CHANGES[kind][1](self.ledger.name, *arguments)
        return f"SELECT {call}", parameters

    def _drawn(self, state: Registry) -> tuple[str, tuple]:
        """A kind of change with its arguments after the name."""
        model, pick = state.rows.get(self.ledger.name), self.random.choice
        versions = sorted(model.versions) if model else [1]
        kind = pick(self.KINDS)
        if self.drops and self.random.random() < 0.05:
            kind = "drop"
        if model is None and self.random.random() < 0.8:
            kind = "load"
        elif kind == "load" and len(versions) >= KEPT_VERSIONS:
            kind = "drop_version"
        deploys = not self.drops or self.random.random() < 0.7
        return kind, {
            "load": (self.random.randrange(FILES), deploys),
            "deploy": (pick((*versions, "best", versions[-1] + 1)),),
            "set_alias": (pick(versions), "best"),
            "drop_alias": ("best",),
            "drop_version": (pick(versions),),
            "grant": (GUEST, "predict"),
            "revoke": (GUEST, "predict"),
            "set_owner": (pick((GUEST, EXTENSION_OWNER)),),
        }.get(kind, ())


class Reader(Worker):
    """Predicts by any model, in any shape."""

    def __init__(self, week: Week, seed: int, place: str, user: str) -> None:
        super().__init__(week, seed)
        self.place, self.user = place, user

    def step(self, connection: psycopg.Connection) -> None:
        ledger = self.random.choice(list(self.week.ledgers.values()))
        chance = self.random.random()
        if chance < 0.1:
            self._by_cursor(connection, ledger)
        elif chance < 0.15:
            self._by_two(connection, ledger)
        else:
            self._by_shape(connection, ledger)

    def _by_shape(self, connection: psycopg.Connection, ledger: Ledger) -> None:
        shape = self.random.choice([
            shape for shape in SHAPES if shape not in OF_OWNER or self.user == EXTENSION_OWNER
        ])  # fmt: skip
        wanted = self.random.choice((None, None, None, None, "best", self.random.randint(1, 9)))
        reference = ledger.name if wanted is None else f"{ledger.name}@{wanted}"
        ids, parameters = self._rows(shape)
        in_place = self.random.random() < 0.5
        query = SHAPES[shape].format(m=f"'{reference}'" if in_place else "%(model)s::text")
        parameters["model"] = reference
        # The pooler's backends have no statements of the client's.
        prepare = self.place != "pool" and self.random.random() < 0.5
        since = ledger.acknowledged
        found = self.answer(
            lambda: [v for (v,) in connection.execute(query, parameters, prepare=prepare)]
        )
        possible = ledger.possible(since, wanted, self.user)
        answers = self.week.answers
        self.check(shape, found, possible, lambda file: is_right(shape, answers, file, ids, found))

    def _rows(self, shape: str) -> tuple[list[int], dict[str, Any]]:
        """The ids, and the parameters that select them."""
        row, count = self.random.randint(1, ROWS), self.random.choice((1, 7, 64, 300, ROWS))
        if shape in OF_ONE:
            return [row], {"id": row}
        if shape == "any":
            ids = self.random.sample(range(1, ROWS + 1), count)
            return sorted(ids), {"ids": ids}
        return list(range(1, count + 1)), {"count": count}

    def _by_cursor(self, connection: psycopg.Connection, ledger: Ledger) -> None:
        """Forward and backward, of one snapshot, while others commit."""
        query = SHAPES["scan"].format(m=f"'{ledger.name}'") % {"count": ROWS}
        steps = (("FORWARD", 70), ("BACKWARD", 20), ("FORWARD", 200))
        since, until = ledger.acknowledged, None

        def run() -> list[float]:
            nonlocal until
            found: list[float] = []
            with connection.transaction():
                connection.execute(f"DECLARE c SCROLL CURSOR FOR {query}")
                until = len(ledger.states)
                for direction, count in steps:
                    fetched = connection.execute(f"FETCH {direction} {count} FROM c").fetchall()
                    found += [value for (value,) in fetched]
                    self.week.done.wait(0.02)
            return found

        found = self.answer(run)
        possible = ledger.possible(since, None, self.user, until)
        ids = [*range(1, 71), *range(69, 49, -1), *range(51, 251)]
        self.check("cursor", found, possible, lambda f: self.week.answers.are_of(f, ids, found))

    def _by_two(self, connection: psycopg.Connection, ledger: Ledger) -> None:
        """Two models, or one twice, in a statement."""
        other = self.random.choice(list(self.week.ledgers.values()))
        both = [(one, one.acknowledged) for one in (ledger, other)]
        calls = ", ".join(f"predict('{one.name}', {COLUMNS})" for one, _ in both)
        found = self.answer(
            lambda: connection.execute(f"SELECT {calls} FROM rows ORDER BY id").fetchall()
        )
        possible = [one.possible(since, None, self.user) for one, since in both]
        if isinstance(found, str):
            self.check("two", found, possible[0] | possible[1], lambda _: False)
            return
        are_of, ids = self.week.answers.are_of, list(range(1, ROWS + 1))
        for values, of in zip(zip(*found, strict=True), possible, strict=True):
            self.check("two", values, of, lambda f, v=values: are_of(f, ids, list(v)))

    def check(
        self, shape: str, found: Any, possible: set[int | str], is_right: Callable[[int], bool]
    ) -> None:
        if isinstance(found, str):
            right = found in possible
        else:
            right = any(is_right(file) for file in possible if isinstance(file, int))
        self.week.counts["refused" if isinstance(found, str) else f"{self.place}: {shape}"] += 1
        assert right, f"{shape} by {self.user} on {self.place}: {found}, not of {possible}"


class Scores(Worker):
    """Writes a table whose scores are kept, and looks at them."""

    pause = 0.3

    def __init__(self, week: Week, seed: int, ledger: Ledger) -> None:
        super().__init__(week, seed)
        self.ledger = ledger

    def step(self, connection: psycopg.Connection) -> None:
        name, seen = self.ledger.name, "row, score, score_version"
        values = ", ".join(f"{name} = r.{name}" for name in NAMES)
        excluded = ", ".join(f"{name} = EXCLUDED.{name}" for name in NAMES)
        part = self.random.randrange(20)
        statement = self.random.choice((
            f"INSERT INTO scored (row, {COLUMNS}) SELECT id, {COLUMNS} FROM rows WHERE id % 20 = {part}"
            f" RETURNING {seen}",
            f"UPDATE scored AS s SET row = r.id, {values} FROM rows AS r"
            f" WHERE s.id % 20 = {part} AND r.id = 1 + (s.row * 7) % {ROWS} RETURNING {seen}",
            f"DELETE FROM scored WHERE id % 10 = {part % 10}",
            f"MERGE INTO scored AS s USING (SELECT * FROM rows WHERE id % 20 = {part}) AS r ON s.row = r.id"
            f" WHEN MATCHED THEN UPDATE SET {values}"
            f" WHEN NOT MATCHED THEN INSERT (row, {COLUMNS}) VALUES (id, {COLUMNS})",
            f"INSERT INTO scored (id, row, {COLUMNS}) SELECT {-1 - part}, id, {COLUMNS} FROM rows"
            f" WHERE id = {self.random.randint(1, ROWS)} ON CONFLICT (id) DO UPDATE SET row = EXCLUDED.row,"
            f" {excluded} WHERE scored.row <> EXCLUDED.row RETURNING {seen}",
            "CALL refresh_scores('scored', 100)",
            f"SELECT drop_scores('scored'), maintain_scores('scored', '{name}')",
            f"SELECT {seen} FROM scored",
        ))  # fmt: skip
        since = self.ledger.acknowledged
        found = connection.execute(statement)
        if "RETURNING" in statement:
            states = self.ledger.states[since:]
            deployed = {state.rows[name].deployed for state in states}
            rows = found.fetchall()
            assert {version for *_, version in rows} <= deployed, (statement, deployed)
            self.check(rows)
        elif statement.startswith(f"SELECT {seen}"):
            self.check(found.fetchall())

    def check(self, rows: list[tuple]) -> None:
        """Each score is the prediction of its version."""
        margins = self.week.answers.margins
        for row, score, version in rows:
            expected = margins[self.ledger.files[version]][row - 1]
            assert np.float32(score) == expected, (row, score, version, expected)


class Trainer(Worker):
    """Trains on the same rows: always the same file, which predicts as XGBoost does by it."""

    pause = 2
    source = f"SELECT {COLUMNS}, y FROM rows ORDER BY id"
    digest: str | None = None
    folds: list[tuple] | None = None

    def step(self, connection: psycopg.Connection) -> None:
        if self.random.random() < 0.3:
            validate = "SELECT * FROM cross_validate_model(%s, 'y', rounds => 3, folds => 3)"
            folds = connection.execute(validate, (self.source,)).fetchall()
            assert folds == (self.folds or folds)
            self.folds = folds
        dropped(connection, "trained")
        train = "SELECT * FROM train_model('trained', %s, 'y', rounds => 5, continue_from => %s)"
        for earlier in (None, "trained"):
            connection.execute(train, (self.source, earlier))
        query = "SELECT export_model('trained'), model_info('trained') ->> 'sha256'"
        content, digest = connection.execute(query).fetchone()
        assert digest == (self.digest or digest)
        self.digest = digest
        booster = xgb.Booster()
        booster.load_model(bytearray(content))
        data = xgb.DMatrix(self.week.answers.rows, feature_names=NAMES, nthread=1)
        predict = f"SELECT predict('trained', {COLUMNS}) FROM rows ORDER BY id"
        found = [value for (value,) in connection.execute(predict)]
        assert np.array_equal(np.float32(found), booster.predict(data, output_margin=True))


class Functions(Worker):
    """Makes functions of a model: plain SQL, and one with the types of its features."""

    pause = 3

    def __init__(self, week: Week, seed: int, ledger: Ledger) -> None:
        super().__init__(week, seed)
        self.ledger = ledger

    def step(self, connection: psycopg.Connection) -> None:
        name, since = self.ledger.name, self.ledger.acknowledged
        connection.execute("DROP SCHEMA IF EXISTS made CASCADE; CREATE SCHEMA made")
        export = "SELECT export_model_sql(%s, 'exported', 'made')"
        connection.execute(connection.execute(export, (name,)).fetchone()[0])
        exported = self.ledger.possible(since)
        connection.execute("SELECT create_predict_function(%s, 'typed', 'made')", (name,))
        for function in ("exported", "typed"):
            query = f"SELECT made.{function}({COLUMNS}) FROM rows WHERE id <= 50 ORDER BY id"
            found = [value for (value,) in connection.execute(query)]
            possible = exported if function == "exported" else self.ledger.possible(since)
            are_of, ids = self.week.answers.are_of, list(range(1, 51))
            assert any(are_of(file, ids, found) for file in possible), (function, possible)


class Pins(Worker):
    """Pins a version for an index, which keeps it, and lets it go."""

    pause = 1

    def step(self, connection: psycopg.Connection) -> None:
        connection.execute("DROP INDEX IF EXISTS by_score")
        pinned = "SELECT unpin_model(name || '@' || version) FROM pgboost_models WHERE pinned"
        connection.execute(pinned)
        dropped(connection, "pinned")
        file = self.random.randrange(FILES)
        load = "SELECT load_model('pinned', %s)"
        (version,) = connection.execute(load, (self.week.answers.files[file],)).fetchone()
        reference = f"pinned@{version}"
        connection.execute("SELECT pin_model(%s)", (reference,))
        call = f"predict_pinned('{reference}', {COLUMNS})"
        connection.execute(f"CREATE INDEX by_score ON pinned_rows ({call})")
        query = f"SELECT id, {call} FROM pinned_rows ORDER BY {call}, id LIMIT 50"
        ids, values = zip(*connection.execute(query), strict=True)
        expected = np.lexsort((np.arange(ROWS), self.week.answers.margins[file]))[:50] + 1
        assert list(ids) == expected.tolist()
        assert self.week.answers.are_of(file, list(ids), list(values))
        for call in ("unpin_model", "drop_model"):
            refused = f"SELECT {call}('{reference}')"
            assert self.answer(lambda r=refused: connection.execute(r).fetchall()) == IN_USE


class Roles(Worker):
    """A role that comes, is granted a model, predicts, and goes."""

    pause = 1

    def step(self, connection: psycopg.Connection) -> None:
        connection.execute("RESET ROLE")
        if connection.execute("SELECT 1 FROM pg_roles WHERE rolname = 'passing'").fetchone():
            try:
                connection.execute("DROP OWNED BY passing; DROP ROLE passing")
            except psycopg.errors.InternalError_ as error:
                assert str(error) == CONCURRENTLY, error
                return
        connection.execute("CREATE ROLE passing; GRANT SELECT ON rows TO passing")
        ledger = self.random.choice(list(self.week.ledgers.values()))
        grant = "SELECT grant_model(%s, 'passing')"
        given = self.answer(lambda: connection.execute(grant, (ledger.name,)).fetchall())
        connection.execute("SET ROLE passing")
        query = f"SELECT predict('{ledger.name}', {COLUMNS}) FROM rows WHERE id = 1"
        since = ledger.acknowledged
        found = self.answer(lambda: connection.execute(query).fetchone()[0])
        connection.execute("RESET ROLE")
        possible = ledger.possible(since)
        # The model may have been dropped meanwhile, and another may have its name.
        if isinstance(found, str):
            assert found in possible or found == "42501", (found, given, possible)
        else:
            assert not isinstance(given, str)
            files = [file for file in possible if isinstance(file, int)]
            assert any(self.week.answers.are_of(file, [1], [found]) for file in files), possible


class Keeper(Worker):
    """Checkpoints, and what else administrators do."""

    pause = 2

    def is_tolerated(self, error: psycopg.Error) -> bool:
        return super().is_tolerated(error) or str(error).startswith(CHECKPOINT_FAILED)

    def step(self, connection: psycopg.Connection) -> None:
        connection.execute(
            self.random.choice((
                "CHECKPOINT", "VACUUM ANALYZE", "SELECT pg_stat_pgboost_reset()", "SELECT pg_reload_conf()",
                "VACUUM FULL pgboost_catalog.version", "VACUUM scored",
            ))
        )  # fmt: skip


class Canceller(Worker):
    """Cancels whatever runs, but for writers."""

    pause = 0.3

    def step(self, connection: psycopg.Connection) -> None:
        connection.execute(
            "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE state = 'active'"
            " AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
            " AND application_name NOT IN ('writer', 'admin') ORDER BY random() LIMIT 1"
        )


def dropped(connection: psycopg.Connection, name: str) -> None:
    """Drops a model if there is one."""
    drop = "SELECT drop_model(name) FROM pgboost_models WHERE name = %s LIMIT 1"
    connection.execute(drop, (name,))
