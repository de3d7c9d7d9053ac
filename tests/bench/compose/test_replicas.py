"""The profile replicas: two hot standbys, and PgBouncer before all three servers."""

import time
from collections.abc import Iterator

import pytest
from psycopg import errors

from tests.bench.compose.conftest import REPLICAS, Stack
from tools.workbench.queries import predict

SUM = f"SELECT sum({predict('columns')}), count(*) FROM flights"
REPLAY_SECONDS = 20
STANDBYS = ("STANDBY1_PORT", "STANDBY2_PORT")


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
