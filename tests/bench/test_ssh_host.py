"""A real machine behind a real sshd, though it is this one: every verb, and a cell measured through it.

The sshd is the test's own, with its own configuration, keys and port on the loopback interface. The
repository there is a directory of links to this one, so its files are in another place.
"""

import getpass
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bench import processes, results
from bench.harness import Harness
from bench.hosts import CommandFailed, LocalHost, Login, SshHost, run_measured
from bench.opening import opened
from bench.site import Site
from bench.systems import described
from bench.topology import Topology
from bench.workload import WORKLOADS, Set
from cluster import stop

ROOT = Path(__file__).resolve().parents[2]
SSHD = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin")
# What is run there, of this repository.
ROOMS = ("bench", "cluster", "data", "workbench", "python_baseline", "sql", ".build", ".venv")

pytestmark = pytest.mark.skipif(not SSHD, reason="there is no sshd (openssh-server)")

WAIT = "import time; time.sleep(60)"


def _key(path: Path) -> Path:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)
    return path


@pytest.fixture(scope="module")
def machine() -> Iterator[Path]:
    """A directory that the cluster's user can enter: keys, configurations, the repository there."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        directory.chmod(0o755)
        repository = directory / "repository"
        repository.mkdir()
        for room in ROOMS:
            (repository / room).symlink_to(ROOT / room)
        yield directory
        stop(repository / ".bench", delete=True)


@pytest.fixture(scope="module")
def ssh_config(machine: Path) -> Iterator[Path]:
    """ssh's configuration for the sshd that runs meanwhile."""
    host_key, user_key = _key(machine / "host_key"), _key(machine / "user_key")
    port = LocalHost(machine).free_port()
    public = user_key.with_suffix(".pub").read_text()
    (machine / "authorized_keys").write_text(public)
    (machine / "known_hosts").write_text(
        f"[127.0.0.1]:{port} {host_key.with_suffix('.pub').read_text()}"
    )
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
    command = [SSHD, "-D", "-e", "-f", str(machine / "sshd_config")]
    with (machine / "sshd.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    deadline = time.monotonic() + 20
    while "Server listening" not in (machine / "sshd.log").read_text():
        if process.poll() is not None or time.monotonic() > deadline:
            pytest.fail(f"no sshd: {(machine / 'sshd.log').read_text()}")
        time.sleep(0.05)
    yield config
    process.terminate()
    process.wait()


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("here")


@pytest.fixture(scope="module")
def login(machine: Path, ssh_config: Path) -> Login:
    reach = f"{getpass.getuser()}@127.0.0.1"
    return Login(reach, "127.0.0.1", str(ssh_config), str(machine / "repository"))


@pytest.fixture(scope="module")
def host(login: Login, here: Path) -> Iterator[SshHost]:
    reached = SshHost("there", login, here)
    reached.open()
    yield reached
    reached.close()


def test_a_command_says_what_it_printed_or_why_it_failed(host: SshHost) -> None:
    assert host.run(["cat"], question="a 'question'\n") == "a 'question'\n"
    words = ["two  words", "$HOME", "a'b", "*"]
    assert host.run(["printf", "%s\n", *words]).splitlines() == words
    assert "SOME=x y" in host.run(["env"], {"SOME": "x y"}).splitlines()
    with pytest.raises(CommandFailed, match=r"(?s)there: .*python failed:.*what is wrong"):
        host.run([host.python, "-c", "import sys; sys.exit('what is wrong')"])
    with pytest.raises(CommandFailed, match="no-such-program is not installed"):
        host.run(["no-such-program"])


def test_no_secret_stands_in_a_command_line(host: SshHost) -> None:
    program = "import time; print('started', flush=True); time.sleep(2)"
    service = host.start(
        "waits", [host.python, "-c", program], host.directory / "log", {"SECRET": "hush-hush"}
    )
    seen = host.run(["ps", "-eo", "args"], {"PGPASSWORD": "hush-hush"})
    assert "ps -eo args" in seen
    assert "hush-hush" not in seen
    host.stop(service)


def test_a_server_goes_on_until_it_is_stopped(host: SshHost) -> None:
    log = host.directory / "logs" / "waits.log"
    program = f"print('begun', flush=True); {WAIT}"
    service = host.start("waits", [host.python, "-c", program], log)
    assert host.is_alive(service)
    assert processes.began(service.pid) == service.began
    deadline = time.monotonic() + 20
    while "begun" not in service.last_words() and time.monotonic() < deadline:
        time.sleep(0.1)
    host.stop(service)
    assert not host.is_alive(service)
    with pytest.raises(CommandFailed, match=r"(?s)waits ended by itself:.*begun"):
        service.check_alive()


def test_what_a_killed_run_has_left_is_ended_by_the_next(
    host: SshHost, login: Login, here: Path
) -> None:
    service = host.start("left", [host.python, "-c", WAIT], host.directory / "left.log")
    again = SshHost("there", login, here)
    again.open()
    again.close()
    assert not processes.began(service.pid)


def test_files_and_directories_go_there_and_come_back(host: SshHost, here: Path) -> None:
    directory = here / "a b" / "scripts"
    directory.mkdir(parents=True)
    (directory / "one").write_text("1")
    (directory / "two").write_bytes(bytes(range(256)))
    host.put(here / "a b")
    assert host.run(["cat", directory / "one"]) == "1"
    there = Path(host.there(directory / "two"))
    assert there.read_bytes() == bytes(range(256))
    assert not there.is_relative_to(here)
    shutil.rmtree(here / "a b")
    host.fetch(directory)
    assert (directory / "two").read_bytes() == bytes(range(256))
    with pytest.raises(CommandFailed, match="cannot be fetched"):
        host.fetch(here / "nothing")
    # A file of the repository has the same name below the one there.
    assert host.run(["head", "-n1", ROOT / "bench/requests.py"]).startswith('"""')
    assert str(host.there(ROOT / "bench")).endswith("/repository/bench")


def test_a_file_is_written_for_its_owner_alone(host: SshHost) -> None:
    place = host.directory / "new" / "secret"
    host.write(place, "x")
    assert Path(place).read_text() == "x"
    assert Path(place).stat().st_mode & 0o777 == 0o600


def test_what_is_used_there_is_measured_there(host: SshHost) -> None:
    burn = "import time\nwhile time.process_time() < {}:\n    pass\nprint('burned')"
    busy = host.start("busy", [host.python, "-c", burn.format(30)], host.directory / "busy.log")
    command = [host.python, "-c", burn.format(0.5)]
    output, usage = run_measured(host, command, {"busy": [busy.process]})
    host.stop(busy)
    assert output == "burned\n"
    assert 0.5 <= usage.generator.cpu_seconds < 1.5
    assert 0.2 < usage.server_parts["busy"].cpu_seconds < 20
    assert usage.server.pss_bytes > 1 << 20


def test_a_machine_that_cannot_be_reached_is_named(login: Login, here: Path) -> None:
    for wrong in (
        replace(login, repository="/nowhere"),
        replace(login, reach="nobody-at-all@127.0.0.1"),
    ):
        with pytest.raises(CommandFailed, match=r"away: ssh .* failed"):
            SshHost("away", wrong, here).open()


@pytest.fixture(scope="module")
def topology(login: Login, here: Path) -> Iterator[Topology]:
    known = {
        "kind": "ssh", "reach": login.reach, "address": login.address,
        "config": login.config, "repository": login.repository,
    }  # fmt: skip
    roles = dict.fromkeys(("server", "store", "client"), "box")
    path = here / "topology.json"
    path.write_text(json.dumps({"name": "box", "roles": roles, "hosts": {"box": known}}))
    with opened(str(path), here) as made:
        yield made


def test_cells_are_measured_through_it(
    topology: Topology, here: Path, tmp_path: Path, machine: Path
) -> None:
    workload = replace(
        WORKLOADS["quick"], name="test", seconds=1, warm_up_seconds=0, keys=200,
        keys_one_at_a_time=200, rows=5_000, training_rounds=0, cells={
            "hot": Set(("hot",), (2,), (5,)), "rates": Set(("hot",), (2,), (5,), rates=(100,)),
            # What wrk reads there is the service's alone.
            "random": Set(("random",), (2,), (5,), systems=("python_tuned",)),
        }, systems=("postgres_direct", "postgres_pgbouncer", "python_tuned"),
    )  # fmt: skip
    for name in ("hot", "rates"):
        workload.cells[name] = replace(workload.cells[name], systems=("*",))
    site = Site(workload, topology, here)
    cells = workload.cells_of(described())
    measured = Harness(site, cells, tmp_path).run()
    results.write(tmp_path / "results.json", measured)
    assert measured.topology.name == "box"
    assert measured.topology.roles == {"server": "box", "store": "box", "client": "box"}
    assert measured.topology.hosts["box"]["kernel"] == os.uname().release
    for cell in measured.cells:
        assert len(cell.runs) == (0 if cell.skipped else 1)
        for run in cell.runs:
            assert run.server.cpu_seconds > 0
            assert run.generator.pss_bytes > 1 << 18
    text = repr(measured)
    assert str(machine) not in text
    assert str(ROOT) not in text
    assert sys.prefix not in text
