"""Logical replication carries models and kept scores into another database, which uses them at once.

Rows of a server without the extension follow it to one that predicts.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg
import pytest
from psycopg import Connection, errors

from tests.connections import until
from tests.extension.lifecycle.conftest import restart
from tests.extension.lifecycle.models import (
    REAL_INPUTS,
    call,
    constant,
    grown,
    load,
    load_doubles,
    one,
    value,
)
from tests.extension.lifecycle.test_dump import facts
from tools.cluster import Cluster

TABLES = ", ".join(
    f"pgboost_catalog.{table}"
    for table in ("model", "version", "file_part", "privilege", "baseline", "alias", "deployment")
)


@pytest.fixture(scope="module")
def publishing(spare: Cluster) -> Cluster:
    """The spare cluster with the log that logical replication reads."""
    restart(spare, wal_level="logical", wal_retrieve_retry_interval="100ms")
    return spare


@contextmanager
def subscribed(
    server: Cluster, publisher: Connection, subscriber: Connection, tables: str
) -> Iterator[None]:
    """Copies tables of a database of the server to the subscriber's."""
    name = subscriber.info.dbname
    # A commit that does not wait for the log is sent when it is written out, a fifth of a second later.
    publisher.execute("SET synchronous_commit = on")
    publisher.execute(f"CREATE PUBLICATION {name} FOR TABLE {tables}")
    # Within one cluster the slot must be there before the subscription is made.
    publisher.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", (name,))
    subscriber.execute(
        f"CREATE SUBSCRIPTION {name} CONNECTION '{server.conninfo(publisher.info.dbname)}'"
        f" PUBLICATION {name} WITH (create_slot = false, slot_name = '{name}')"
    )
    try:
        yield
    finally:
        subscriber.execute(f"ALTER SUBSCRIPTION {name} DISABLE")
        subscriber.execute(f"ALTER SUBSCRIPTION {name} SET (slot_name = NONE)")
        subscriber.execute(f"DROP SUBSCRIPTION {name}")


DENIED, GONE = errors.InsufficientPrivilege, errors.UndefinedObject
# Changes of the model m, and what a user of the copy gets from it then.
CHANGES = [
    (1, DENIED), (2, DENIED), ("grant_model('m', 'follower')", 2), (3, 3),
    ("deploy_model('m@1')", 1), ("drop_model('m@3')", 1), ("set_alias('m@2', 'best')", 1),
    ("set_alias('m@1', 'best')", 1), ("revoke_model('m', 'follower')", DENIED),
    ("drop_model('m')", GONE),
]  # fmt: skip


def changes_follow(
    source: Connection, copy: Connection, user: Connection, follow: Callable[[], None]
) -> None:
    """Makes the changes; the open connections to the copy see each of them once it has followed."""
    for change, expected in CHANGES:
        call(source, change)
        follow()
        assert facts(copy) == facts(source)
        try:
            assert value(user) == expected
        except psycopg.Error as error:
            assert type(error) is expected


def test_changes_follow_in_a_connection_that_is_open(publishing: Cluster) -> None:
    """Models, aliases, deployments and privileges, by the role's name; those from before are copied."""
    publishing.create_database("subscriber")
    with publishing.connect() as publisher, publishing.connect("subscriber") as subscriber:
        publisher.execute("CREATE ROLE follower")
        subscriber.execute("CREATE EXTENSION pgboost")
        load(publisher, "grown", grown(20, 5))

        def follows() -> None:
            until(lambda: facts(subscriber), facts(publisher))

        with (
            subscribed(publishing, publisher, subscriber, TABLES),
            publishing.connect("subscriber") as user,
        ):
            user.execute("SET ROLE follower")
            follows()
            changes_follow(publisher, subscriber, user, follows)
            query = load_doubles(publisher, "doubles")
            publisher.execute("SELECT rename_model('doubles', 'renamed')")
            follows()
            assert one(subscriber, query.replace("doubles", "renamed")) == REAL_INPUTS


def test_scores_are_copied_or_made(publishing: Cluster) -> None:
    """A subscriber keeps the publisher's scores, unless it is told to make its own."""
    publishing.create_database("scores_subscriber")
    with publishing.connect() as publisher, publishing.connect("scores_subscriber") as subscriber:
        subscriber.execute("CREATE EXTENSION pgboost")
        for side, number in ((publisher, 1), (subscriber, 5)):
            load(side, "scoring", constant(number))
            side.execute("CREATE TABLE scored (id integer PRIMARY KEY, f1 real)")
            side.execute("CREATE TABLE plain (id integer PRIMARY KEY, f1 real)")
            side.execute("SELECT maintain_scores('scored', 'scoring')")
        subscriber.execute("SELECT maintain_scores('plain', 'scoring', replicated => true)")
        with subscribed(publishing, publisher, subscriber, "scored, plain"):
            publisher.execute("INSERT INTO scored VALUES (1, 1); INSERT INTO plain VALUES (1, 1)")
            until(lambda: one(subscriber, "SELECT max(score) FROM scored"), 1)
            until(lambda: one(subscriber, "SELECT max(score) FROM plain"), 5)


def test_a_replica_predicts_rows_of_a_server_without_the_extension(
    publishing: Cluster, cluster: Cluster
) -> None:
    """The recipe of docs/managed.md, with two servers."""
    table = "CREATE TABLE customers (id int PRIMARY KEY, f1 real)"
    publishing.create_database("managed", replace=True)
    cluster.create_database("replica", replace=True)
    with publishing.connect("managed") as managed, cluster.connect("replica") as replica:
        managed.execute(table)
        managed.execute("INSERT INTO customers SELECT i, i FROM generate_series(1, 1000) AS i")
        replica.execute("CREATE EXTENSION pgboost")
        replica.execute(table)
        load(replica, "m", constant(3))
        with subscribed(publishing, managed, replica, "customers"):
            total = "SELECT sum(predict('m', f1)) FROM customers"
            until(lambda: one(replica, total), 3000)
            lags = []
            for number in range(1001, 1021):
                written = time.monotonic()
                managed.execute("INSERT INTO customers VALUES (%s, 0)", (number,))
                until(lambda: one(replica, total), 3 * number)
                lags.append(time.monotonic() - written)
            print(f"a row is predicted after {sorted(lags)[10]:.3f} s, the median of {len(lags)}")
            managed.execute("DELETE FROM customers WHERE id > 1")
            until(lambda: one(replica, total), 3)
            lag = "SELECT now() - latest_end_time IS NOT NULL FROM pg_stat_subscription"
            assert one(replica, lag)
