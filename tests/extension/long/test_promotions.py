"""Standbys are promoted one after another, each once its primary was killed: what was replayed stays."""

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.extension.lifecycle.models import constant, grown, load, one, value
from tests.extension.lifecycle.test_standby import ROW, replayed
from tools.cluster import Cluster
from tools.cluster.standby import follow, promote, stop

PROMOTIONS = 10
ANSWER = f"SELECT predict('grown', {ROW})"


@pytest.fixture
def followed(spare: Cluster) -> Iterator[list[Cluster]]:
    """The servers so far, the first of which is not this fixture's to stop."""
    servers = [spare]
    yield servers
    for server in servers[1:]:
        stop(server, "immediate")
        shutil.rmtree(server.place.home, ignore_errors=True)


def test_ten_promotions_one_after_another(followed: list[Cluster]) -> None:
    with followed[0].connect() as connection:
        load(connection, "grown", grown(50, 6))
        load(connection, "m", constant(0))
        expected = one(connection, ANSWER)
    for number in range(1, PROMOTIONS + 1):
        primary = followed[-1]
        home = Path(followed[0].place.home, f"standby_{number}")
        standby = follow(primary, home, {"listen_addresses": ""})
        followed.append(standby)
        with primary.connect() as writer, standby.connect() as reader:
            assert load(writer, "m", constant(number)) == number + 1
            replayed(writer, reader)
            postmaster = int((primary.place.data / "postmaster.pid").read_text().split()[0])
            os.kill(postmaster, signal.SIGKILL)
            promote(standby)
            # The connection that predicted on the standby goes on.
            assert value(reader) == number
            assert one(reader, ANSWER) == expected
            versions = [value(reader, f"m@{version + 1}") for version in range(number + 1)]
            assert versions == list(range(number + 1))
