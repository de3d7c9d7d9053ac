"""Both services report a Redis that hangs or has gone, and a value that they cannot read."""

import os
import signal
from pathlib import Path

import pytest
import redis

from bench.feature_cache import start_redis
from bench.hosts import Address, Host, Service
from data.flights import Request
from python_baseline.load import load
from tests.bench.baseline.conftest import ROWS, StartService
from tests.bench.baseline.test_service import HOT


def loaded_redis(host: Host, directory: Path, port: int | None = None) -> tuple[Service, Address]:
    """A separate Redis with the flights, and its address."""
    server, at = start_redis(host, directory, port)
    load("redis://{}:{}/0".format(*at), Request(ROWS))
    return server, at


@pytest.mark.parametrize("mode", ["published", "tuned"])
def test_a_hanging_or_lost_redis_is_reported_in_time_and_reconnected(
    host: Host, tmp_path: Path, start_service: StartService, mode: str
) -> None:
    server, at = loaded_redis(host, tmp_path)
    client = start_service(mode, redis_url="redis://{}:{}/0".format(*at))

    def is_reported() -> None:
        # The published worker would be killed after two seconds, without an answer.
        for answer in (client.ask("/", HOT), client.ask("/batch", [HOT, HOT])):
            assert (answer.status, answer.error) == (503, "redis cannot be reached")
        assert client.ask("/ping", None, "GET").status == 200

    assert client.ask("/", HOT).status == 200
    os.kill(server.pid, signal.SIGSTOP)
    try:
        is_reported()
    finally:
        os.kill(server.pid, signal.SIGCONT)
    assert client.ask("/", HOT).status == 200
    server.stop()
    is_reported()
    again, _ = loaded_redis(host, tmp_path, at[1])
    try:
        assert client.ask("/", HOT).status == 200
    finally:
        again.stop()


def test_a_value_that_cannot_be_read_is_an_internal_error(
    start_service: StartService, redis_server: Address
) -> None:
    url = "redis://{}:{}/9".format(*redis_server)
    with redis.Redis.from_url(url) as connection:
        connection.rpush("[1, 2, 3, 4]", b"not a row")
        connection.set("[1, 2, 3, 5]", b"not a list")
    client = start_service("tuned", redis_url=url)
    answer = client.ask("/", [1, 2, 3, 4])
    assert (answer.status, answer.error) == (500, "internal error")
    # Redis answers, but not with a list, which is an internal error.
    assert client.ask("/", [1, 2, 3, 5]).status == 500
