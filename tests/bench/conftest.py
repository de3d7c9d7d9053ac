"""A machine behind ssh, which is this one by a real sshd, and the turn of modules that make namespaces."""

import fcntl
import getpass
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bench.hosts import ROOT, Login, local
from tools.cluster import stop

SSHD = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin")
# The parts of this repository that are used there.
ROOMS = ("bench", "data", "tools", "python_baseline", "sql", ".build", ".venv")


def _key(path: Path) -> Path:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)
    return path


@contextmanager
def reachable(cluster: str = "") -> Iterator[Path]:
    """A directory that the cluster's user can enter, unlike pytest's own; the cluster in it is deleted."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        directory.chmod(0o755)
        try:
            yield directory
        finally:
            stop(directory / cluster, delete=True)


@pytest.fixture(scope="module")
def only_split() -> Iterator[None]:
    """Waits for the end of other modules, in other processes, whose namespaces have the same names."""
    with (ROOT / ".build" / "split.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@pytest.fixture(scope="module")
def state() -> Iterator[Path]:
    with reachable() as directory:
        yield directory


@pytest.fixture(scope="session")
def machine() -> Iterator[Path]:
    """A directory with keys, configurations, and the repository there."""
    with reachable("repository/.bench") as directory:
        repository = directory / "repository"
        repository.mkdir()
        for room in ROOMS:
            (repository / room).symlink_to(ROOT / room)
        yield directory


@pytest.fixture(scope="session")
def login(machine: Path) -> Iterator[Login]:
    """How it is reached, while its sshd runs."""
    if not SSHD:
        pytest.skip("there is no sshd (openssh-server)")
    host_key, user_key = _key(machine / "host_key"), _key(machine / "user_key")
    port = local(machine).free_port()
    (machine / "authorized_keys").write_text(user_key.with_suffix(".pub").read_text())
    public = host_key.with_suffix(".pub").read_text()
    (machine / "known_hosts").write_text(f"[127.0.0.1]:{port} {public}")
    (machine / "sshd_config").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {host_key}\nPidFile {machine}/sshd.pid\n"
        f"AuthorizedKeysFile {machine}/authorized_keys\nStrictModes no\nUsePAM no\n"
        "PasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin yes\n"
        "MaxStartups 100\n"
    )
    config = machine / "ssh_config"
    config.write_text(
        f"Host *\nPort {port}\nIdentityFile {user_key}\nIdentitiesOnly yes\n"
        f"UserKnownHostsFile {machine}/known_hosts\nGlobalKnownHostsFile none\n"
        "StrictHostKeyChecking yes\n"
    )
    # It separates privileges in a directory that Debian's service would make.
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    with (machine / "sshd.log").open("wb") as log:
        command = [SSHD, "-D", "-e", "-f", str(machine / "sshd_config")]
        process = subprocess.Popen(command, stdout=log, stderr=log)
    deadline = time.monotonic() + 20
    while "Server listening" not in (machine / "sshd.log").read_text():
        if process.poll() is not None or time.monotonic() > deadline:
            pytest.fail(f"no sshd: {(machine / 'sshd.log').read_text()}")
        time.sleep(0.05)
    reach = f"{getpass.getuser()}@127.0.0.1"
    yield Login(reach, "127.0.0.1", str(config), str(machine / "repository"))
    process.terminate()
    process.wait()
