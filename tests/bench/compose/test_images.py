"""The images run without root and contain neither a password nor a trace of the build's network."""

import gzip
import json
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest

from tests.bench.compose.conftest import REPOSITORY, STAYING, Stack, docker

CHUNK = 1 << 20
GZIP = b"\x1f\x8b"


@pytest.mark.parametrize("service", STAYING)
def test_every_process_runs_without_root(stack: Stack, service: str) -> None:
    script = "cat /proc/[0-9]*/status 2>/dev/null; true"
    lines = stack.compose("exec", "-T", service, "sh", "-c", script).splitlines()
    users = [line.split()[1:] for line in lines if line.startswith("Uid:")]
    assert users
    assert not [user for user in users if "0" in user]
    effective = {line.split()[1] for line in lines if line.startswith("CapEff:")}
    assert {int(capabilities, 16) for capabilities in effective} == {0}


def test_no_image_runs_as_root(stack: Stack) -> None:
    # The official image begins as root, and its entry point runs the server as postgres.
    images = stack.images("official")
    users = {image: _configuration(image)["User"] for image in images}
    assert len(users) >= len(STAYING)
    assert not [image for image, user in users.items() if user in ("", "root", "0")]


def _configuration(image: str) -> dict[str, object]:
    return json.loads(docker("image", "inspect", image))[0]["Config"]


def test_ports_are_published_on_the_loopback_interface(stack: Stack) -> None:
    published = [
        binding["HostIp"]
        for service in STAYING
        for bindings in stack.inspect(service)["NetworkSettings"]["Ports"].values()
        for binding in bindings or []
    ]
    assert published == ["127.0.0.1"] * 3


def _parts(stream: IO[bytes]) -> Iterator[bytes]:
    """Reads a file in pieces, each of which begins with the end of the one before."""
    end = b""
    while piece := stream.read(CHUNK):
        yield end + piece
        end = piece[-200:]


def _files(archive: tarfile.TarFile) -> Iterator[IO[bytes]]:
    """Yields the layers of `docker save`, archives that newer engines compress."""
    for member in archive:
        if not member.isfile():
            continue
        with archive.extractfile(member) as opened:
            compressed = opened.read(2) == GZIP
            opened.seek(0)
            yield gzip.GzipFile(fileobj=opened) if compressed else opened


def _layers_hold(image: str, wanted: dict[str, bytes], place: Path) -> set[str]:
    path = place / "image.tar"
    docker("save", "--output", str(path), image)
    try:
        with tarfile.open(path) as archive:
            return {
                name
                for stream in _files(archive)
                for part in _parts(stream)
                for name, content in wanted.items()
                if content in part
            }
    finally:
        path.unlink()


def test_no_layer_holds_a_secret_of_the_build(stack: Stack, ca: Path, tmp_path: Path) -> None:
    # A line of the first certificate's text, which was made for this test: others may be in every Debian.
    lines = [line for line in ca.read_bytes().splitlines() if len(line) == 64]
    wanted = {"the certificate": lines[1], "the password": stack.password.encode()}
    # The search is verified by a text that every image contains.
    control = {"its own name": b'PRETTY_NAME="Debian'}
    for image in stack.images():
        assert _layers_hold(image, wanted | control, tmp_path) == {*control}


def test_a_server_without_a_password_does_not_start(stack: Stack) -> None:
    for service in ("postgres", "pgbouncer"):
        image = stack.inspect(service)["Config"]["Image"]
        done = subprocess.run(
            ["docker", "run", "--rm", "--network", "none", image],
            cwd=REPOSITORY, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode != 0
        assert "set PGBOOST_PASSWORD" in done.stderr
