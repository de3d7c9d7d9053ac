"""Logical replication carries models into another database, whose connections use them at once.

Rows of a server without the extension follow it to one that predicts.
"""

import time
from collections.abc import Callable, Iterator

import psycopg
import pytest
from psycopg import Connection, errors

from tests.extension.lifecycle.conftest import restart
from tests.extension.lifecycle.models import (
    REAL_INPUTS,
    ROW,
    constant,
    grown,
    load,
    load_doubles,
    one,
    value,
)
from tools.cluster import Cluster

SECONDS = 20
TABLES = ", ".join(
    f"pgboost_catalog.{table}"
    for table in ("model", "version", "file_part", "privilege", "baseline", "alias", "deployment")
)
Pair = tuple[Connection, Connection]


@pytest.fixture(scope="module")
def pair(spare: Cluster) -> Iterator[Pair]:
    """A connection to the database that publishes, and one to the database that subscribes."""
    restart(spare, wal_level="logical")
    spare.create_database("subscriber")
    with spare.connect() as publisher, spare.connect("subscriber") as subscriber:
        publisher.execute("CREATE ROLE replicated_user")
        subscriber.execute("CREATE EXTENSION pgboost")
        load(publisher, "grown", grown(20, 5))
        publisher.execute(f"CREATE PUBLICATION models FOR TABLE {TABLES}")
        # Within one cluster the slot must be there before the subscription is made.
        publisher.execute("SELECT pg_create_logical_replication_slot('models', 'pgoutput')")
        subscriber.execute(
            f"CREATE SUBSCRIPTION models CONNECTION '{spare.conninfo()}' PUBLICATION models "
            "WITH (create_slot = false, slot_name = 'models')"
        )
        yield publisher, subscriber
        subscriber.execute("ALTER SUBSCRIPTION models DISABLE")
        subscriber.execute("ALTER SUBSCRIPTION models SET (slot_name = NONE)")
        subscriber.execute("DROP SUBSCRIPTION models")


def until(answer: Callable[[], object], expected: object) -> None:
    """Returns once the answer is as expected; errors count as another answer."""
    deadline = time.monotonic() + SECONDS
    found: object = None
    while time.monotonic() < deadline:
        try:
            found = answer()
        except psycopg.Error as error:
            found = error
        if found == expected:
            return
        time.sleep(0.02)
    pytest.fail(f"still {found!r} instead of {expected!r}")


def test_earlier_models_are_copied(pair: Pair) -> None:
    publisher, subscriber = pair
    expected = one(publisher, f"SELECT predict('grown', {ROW})")
    until(lambda: one(subscriber, f"SELECT predict('grown', {ROW})"), expected)
    digest = """SELECT model::text || encode(digest, 'hex')
        FROM pgboost_catalog.version JOIN pgboost_catalog.model AS m ON m.id = model WHERE name = 'grown'"""
    assert one(subscriber, digest) == one(publisher, digest)


def test_changes_follow_in_a_connection_that_is_open(pair: Pair) -> None:
    publisher, subscriber = pair
    for number in (1, 2, 3):
        load(publisher, "m", constant(number))
        until(lambda: value(subscriber), number)
    publisher.execute("SELECT deploy_model('m@1')")
    until(lambda: value(subscriber), 1)
    publisher.execute("SELECT drop_model('m@3')")
    until(lambda: one(subscriber, "SELECT count(*) FROM pgboost_models WHERE name = 'm'"), 2)
    with pytest.raises(errors.UndefinedObject):
        value(subscriber, "m@3")


def test_rights_follow_by_the_roles_name(pair: Pair, spare: Cluster) -> None:
    publisher, subscriber = pair
    with spare.connect("subscriber") as user:
        user.execute("SET ROLE replicated_user")
        with pytest.raises(errors.InsufficientPrivilege):
            value(user)
        publisher.execute("SELECT grant_model('m', 'replicated_user')")
        until(lambda: value(user), 1)
        publisher.execute("SELECT revoke_model('m', 'replicated_user')")
        granted = "SELECT count(*) FROM pgboost_catalog.privilege WHERE privilege = 'predict'"
        until(lambda: one(subscriber, granted), 0)
        with pytest.raises(errors.InsufficientPrivilege):
            value(user)


def test_a_drop_follows(pair: Pair) -> None:
    publisher, subscriber = pair
    publisher.execute("SELECT drop_model('m')")
    until(lambda: one(subscriber, "SELECT count(*) FROM pgboost_catalog.model WHERE name = 'm'"), 0)
    with pytest.raises(errors.UndefinedObject):
        value(subscriber)


def test_real_input_is_replicated(pair: Pair) -> None:
    publisher, subscriber = pair
    query = load_doubles(publisher, "doubles")
    until(lambda: one(subscriber, query), REAL_INPUTS)
    publisher.execute("SELECT rename_model('doubles', 'renamed')")
    until(lambda: one(subscriber, query.replace("doubles", "renamed")), REAL_INPUTS)
    assert one(publisher, query.replace("doubles", "renamed")) == REAL_INPUTS
    publisher.execute("SELECT drop_model('renamed')")


def test_an_alias_arrives(pair: Pair) -> None:
    publisher, subscriber = pair
    for number in (1, 2):
        load(publisher, "aliased", constant(number))
    deployments = "SELECT array_agg(d::text ORDER BY number) FROM pgboost_deployments AS d"
    until(lambda: one(subscriber, deployments), one(publisher, deployments))
    for number in (1, 2):
        publisher.execute("SELECT set_alias(%s, 'best')", (f"aliased@{number}",))
        until(lambda: value(subscriber, "aliased@best"), number)
    publisher.execute("SELECT drop_model('aliased')")


@pytest.mark.usefixtures("pair")
def test_a_replica_predicts_rows_of_a_server_without_the_extension(
    spare: Cluster, cluster: Cluster
) -> None:
    """The recipe of docs/managed.md, with two servers."""
    table = "CREATE TABLE customers (id int PRIMARY KEY, f1 real)"
    spare.create_database("managed", replace=True)
    cluster.create_database("replica", replace=True)
    with spare.connect("managed") as managed, cluster.connect("replica") as replica:
        managed.execute(table)
        managed.execute("INSERT INTO customers SELECT i, i FROM generate_series(1, 1000) AS i")
        managed.execute("CREATE PUBLICATION scored FOR TABLE customers")
        replica.execute("CREATE EXTENSION pgboost")
        replica.execute(table)
        load(replica, "m", constant(3))
        replica.execute(
            f"CREATE SUBSCRIPTION scored CONNECTION '{spare.conninfo('managed')}' PUBLICATION scored"
        )
        total = "SELECT sum(predict('m', f1)) FROM customers"
        until(lambda: one(replica, total), 3000)
        lags = []
        for number in range(1001, 1021):
            written = time.monotonic()
            managed.execute("INSERT INTO customers VALUES (%s, 0)", (number,))
            until(lambda: one(replica, total), 3 * number)
            lags.append(time.monotonic() - written)
        print(
            f"a row is predicted after {sorted(lags)[len(lags) // 2]:.3f} s, the median of {len(lags)}"
        )
        managed.execute("DELETE FROM customers WHERE id > 1")
        until(lambda: one(replica, total), 3)
        (lag,) = replica.execute(
            "SELECT now() - latest_end_time FROM pg_stat_subscription"
        ).fetchone()
        assert lag is not None
        replica.execute("DROP SUBSCRIPTION scored")
