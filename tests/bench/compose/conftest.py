"""Builds the images and starts all of docker-compose.yml, once for the tests of it.

They take an engine and twenty minutes, so only `make test-compose` runs them. At the end all is taken
down, and anything that is left is an error.
"""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bench.compose.stack import Stack

collect_ignore_glob = [] if os.environ.get("PGBOOST_COMPOSE") else ["test_*.py"]


@pytest.fixture(scope="session")
def ca(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate made here, followed by those that the build's network needs."""
    place = tmp_path_factory.mktemp("ca")
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj"]
    files = ["-keyout", str(place / "key.pem"), "-out", str(place / "ca.pem")]
    subprocess.run([*command, "/CN=pgboost-test", *files], check=True, capture_output=True)
    if given := os.environ.get("BUILD_CA"):
        with (place / "ca.pem").open("ab") as file:
            file.write(Path(given).read_bytes())
    return place / "ca.pem"


@pytest.fixture(scope="session")
def stack(ca: Path) -> Iterator[Stack]:
    """All containers, ready."""
    running = Stack.with_ca(ca)
    running.compose("--profile", "*", "down", "--volumes", "--remove-orphans")
    try:
        running.compose("--profile", "official", "build")
        running.compose("up", "--detach", "--wait")
        yield running
    finally:
        running.compose("--profile", "*", "down", "--volumes", "--remove-orphans")
    assert running.left() == []
