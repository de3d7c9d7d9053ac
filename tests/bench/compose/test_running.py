"""`docker compose up` starts everything, all interfaces predict the same bits, and models persist.

The profile replicas adds two hot standbys, and PgBouncer before all three servers.
"""

import json
import time
import urllib.request
from collections.abc import Callable, Iterator

import numpy as np
import psycopg
import pytest
import xgboost
from numpy.typing import NDArray
from psycopg import errors

from bench.key_set import features_of
from data.columns import FEATURES, LOOKED_UP
from data.flights import Request, blocks
from python_baseline.keys import INDICES, NAMES
from tests.bench.compose.conftest import FLIGHTS, REPLICAS, STAYING, Stack
from tools.workbench.queries import predict

KEYS = 500
SUM = f"SELECT sum({predict('columns')}), count(*) FROM flights"
REPLAY_SECONDS = 20
STANDBYS = ("STANDBY1_PORT", "STANDBY2_PORT")
Answers = NDArray[np.float32]
Keys = list[tuple[int, ...]]


@pytest.fixture(scope="module")
def flights() -> NDArray[np.int32]:
    """The flights that the loader generates."""
    return np.concatenate([*blocks(Request(FLIGHTS))])


@pytest.fixture(scope="module")
def keys(flights: NDArray[np.int32]) -> Keys:
    """Some of the flights' keys, the looked-up one first."""
    return [tuple(key) for key in dict.fromkeys(map(tuple, flights[:KEYS, INDICES].tolist()))]


@pytest.fixture(scope="module")
def wanted(stack: Stack, keys: Keys) -> Answers:
    """XGBoost's predictions for them, by the model exported from the database."""
    with stack.connect("POSTGRES_PORT") as connection:
        model = connection.execute("SELECT export_model('flights')").fetchone()[0]
    rows = xgboost.DMatrix(features_of(Request(FLIGHTS), keys), feature_names=FEATURES)
    return xgboost.Booster(model_file=bytearray(model)).predict(rows)


def in_sql(stack: Stack, port: str, keys: Keys) -> Answers:
    """The predictions by one-row queries through a port."""
    where = " AND ".join(f"{name} = %s" for name in NAMES)
    query = f"SELECT {predict('columns')} FROM flights WHERE {where} LIMIT 1"
    with stack.connect(port) as connection:
        return np.array([connection.execute(query, key).fetchone()[0] for key in keys], np.float32)


def by_http(stack: Stack, keys: Keys) -> Answers:
    """The predictions by the service."""
    request = urllib.request.Request(
        f"http://127.0.0.1:{stack.port('SERVICE_PORT')}/batch",
        json.dumps(keys).encode(), {"Content-Type": "application/json"},
    )  # fmt: skip
    with urllib.request.urlopen(request, timeout=30) as answer:
        return np.array(json.load(answer), np.float32)


def bits(answers: Answers) -> list[int]:
    """Converts predictions to their bits, which must be equal."""
    return answers.view(np.uint32).tolist()


def test_all_containers_are_ready(stack: Stack) -> None:
    for service in STAYING:
        state = stack.inspect(service)["State"]
        assert (state["Status"], state["Health"]["Status"]) == ("running", "healthy"), service
    loader = stack.inspect("load")["State"]
    assert (loader["Status"], loader["ExitCode"]) == ("exited", 0)
    with stack.connect("POSTGRES_PORT") as connection:
        assert connection.execute("SELECT count(*) FROM flights").fetchone() == (FLIGHTS,)
    # Redis has nothing left to save.
    said = stack.compose("exec", "-T", "redis", "redis-cli", "info", "persistence")
    assert "rdb_changes_since_last_save:0" in said.split()


@pytest.mark.parametrize(
    "ask",
    [
        lambda stack, keys: in_sql(stack, "POSTGRES_PORT", keys),
        lambda stack, keys: in_sql(stack, "PGBOUNCER_PORT", keys),
        by_http,
    ],
    ids=["PostgreSQL", "PgBouncer", "the service"],
)
def test_predictions_are_xgboosts_to_the_bit(
    ask: Callable[[Stack, Keys], Answers], stack: Stack, keys: Keys, wanted: Answers
) -> None:
    assert keys[0] == tuple(LOOKED_UP[name] for name in NAMES)
    assert len(set(bits(wanted))) > 100
    assert bits(ask(stack, keys)) == bits(wanted)


@pytest.mark.parametrize("port", ["POSTGRES_PORT", "PGBOUNCER_PORT"])
def test_another_password_is_refused(stack: Stack, port: str) -> None:
    with pytest.raises(psycopg.OperationalError, match="authentication failed"):
        stack.connect(port, password="local-only")


def test_models_are_trained_in_sql(stack: Stack) -> None:
    with stack.connect("POSTGRES_PORT") as connection:
        trained = (
            "SELECT count(*) FROM train_model('sql', 'flights', 'depdelayminutes', rounds => 5)"
        )
        assert connection.execute(trained).fetchone()[0] > 0
        compared = f"SELECT * FROM verify_model('sql', 'SELECT {', '.join(FEATURES)} FROM flights')"
        rows, different, _ = connection.execute(compared).fetchone()
        assert (rows, different) == (FLIGHTS, 0)


def test_models_and_features_outlive_their_containers(
    stack: Stack, keys: Keys, wanted: Answers
) -> None:
    with stack.connect("POSTGRES_PORT") as connection:
        known = connection.execute("SELECT name, version FROM pgboost_models").fetchall()
    stack.compose("restart", "postgres", "redis")
    # The second time the containers are new, and only the volumes are kept.
    for again in ((), ("--force-recreate",)):
        stack.compose("up", "--detach", "--wait", *again)
        with stack.connect("POSTGRES_PORT") as connection:
            query = "SELECT name, version FROM pgboost_models"
            assert connection.execute(query).fetchall() == known
        assert bits(in_sql(stack, "PGBOUNCER_PORT", keys)) == bits(wanted)
        assert bits(by_http(stack, keys)) == bits(wanted)
    # A killed server recovers.
    stack.compose("kill", "postgres")
    stack.compose("up", "--detach", "--wait")
    assert bits(in_sql(stack, "POSTGRES_PORT", keys)) == bits(wanted)


@pytest.fixture(scope="module")
def replicas(stack: Stack) -> Iterator[Stack]:
    """The stack with both standbys and PgBouncer."""
    stack.compose("--profile", "replicas", "up", "--detach", "--wait")
    yield stack
    stack.compose("--profile", "replicas", "rm", "--stop", "--force", "--volumes", *REPLICAS)


@pytest.mark.parametrize("port", [*STANDBYS, "READERS_PORT"])
def test_every_server_predicts_as_the_primary_does(replicas: Stack, port: str) -> None:
    with replicas.connect("POSTGRES_PORT") as primary, replicas.connect(port) as other:
        assert other.execute(SUM).fetchone() == primary.execute(SUM).fetchone()


def test_readers_are_spread_over_all_servers(replicas: Stack) -> None:
    connections = [replicas.connect("READERS_PORT") for _ in range(6)]
    # Each holds its server connection until its transaction ends.
    for connection in connections:
        connection.execute("BEGIN")
    asked = "SELECT inet_server_addr()"
    servers = {connection.execute(asked).fetchone() for connection in connections}
    for connection in connections:
        connection.close()
    assert len(servers) == 3


@pytest.mark.parametrize("port", STANDBYS)
def test_a_deploy_arrives_at_a_standby_which_takes_no_writes(replicas: Stack, port: str) -> None:
    with replicas.connect("POSTGRES_PORT") as primary, replicas.connect(port) as standby:
        with pytest.raises(errors.ReadOnlySqlTransaction):
            standby.execute("SELECT deploy_model('flights@1')")
        train = "SELECT train_model('flights', 'flights', 'depdelayminutes', rounds => 3)"
        primary.execute(train)
        expected = primary.execute(SUM).fetchone()
        deadline = time.monotonic() + REPLAY_SECONDS
        while standby.execute(SUM).fetchone() != expected:
            assert time.monotonic() < deadline, "the standby does not follow"
        primary.execute("SELECT deploy_model('flights@1')")
