"""What a host does, on this machine: commands, servers and their end, and what they use."""

import signal
import sys
import time
from pathlib import Path

import pytest

from bench import processes
from bench.hosts import CommandFailed, LocalHost, Process, Service, run_measured

BURN = "import time\nwhile time.process_time() < {seconds}:\n    pass\nprint('burned')"
WAIT = "import time; time.sleep(60)"
# Its first thread ends, and another goes on.
LEADERLESS = """
import ctypes, threading, time
threading.Thread(target=time.sleep, args=(60,)).start()
ctypes.PyDLL(None).pthread_exit(None)
"""
DEAF = "import signal, time; signal.signal(15, signal.SIG_IGN); print('deaf', flush=True); time.sleep(60)"


def python(program: str) -> list[str]:
    return [sys.executable, "-c", program]


@pytest.fixture
def host(tmp_path: Path) -> LocalHost:
    return LocalHost(tmp_path)


def test_a_command_says_what_it_printed_or_why_it_failed(host: LocalHost) -> None:
    assert host.run(["cat"], question="a question") == "a question"
    with pytest.raises(CommandFailed, match=r"(?s)python.* failed:.*what is wrong"):
        host.run(python("import sys; sys.exit('what is wrong')"))
    with pytest.raises(CommandFailed, match="no-such-program is not installed"):
        host.run(["no-such-program"])


def test_libpq_is_told_nothing_by_the_users_environment(
    host: LocalHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGHOST", "elsewhere")
    monkeypatch.setenv("PG_CONFIG", "/some/pg_config")
    output = host.run(["env"], {"PGPORT": "1"}).splitlines()
    assert [line for line in output if line.startswith("PG")] == [
        "PG_CONFIG=/some/pg_config",
        "PGPORT=1",
    ]


def test_a_server_is_stopped_by_its_process_id(host: LocalHost, tmp_path: Path) -> None:
    service = host.start("waits", python(WAIT), tmp_path / "logs/waits.log")
    assert host.is_alive(service)
    host.stop(service)
    assert not host.is_alive(service)
    assert processes.tree([service.pid]) == []
    # Another time there is nothing to do.
    host.stop(service)


def test_a_server_that_does_not_heed_is_killed(
    host: LocalHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench.hosts.local.STOP_SECONDS", 0.5)
    service = host.start("deaf", python(DEAF), tmp_path / "log")
    deadline = time.monotonic() + 20
    while "deaf" not in service.last_words() and time.monotonic() < deadline:
        time.sleep(0.02)
    host.stop(service)
    assert processes.tree([service.pid]) == []


def test_a_server_whose_first_thread_has_ended_is_waited_for(
    host: LocalHost, tmp_path: Path
) -> None:
    service = host.start("leaderless", python(LEADERLESS), tmp_path / "log")
    deadline = time.monotonic() + 20
    while processes.began(service.pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert host.is_alive(service)
    host.stop(service)
    assert processes.tree([service.pid]) == []


def test_a_later_process_of_the_same_number_is_another(host: LocalHost, tmp_path: Path) -> None:
    service = host.start("waits", python(WAIT), tmp_path / "log")
    other = Service(host, "earlier", service.pid, service.began - 1, tmp_path / "log")
    assert not host.is_alive(other)
    host.stop(other)
    assert host.is_alive(service)
    host.stop(service)


def test_the_end_of_the_log_is_in_the_error(host: LocalHost, tmp_path: Path) -> None:
    service = host.start("ends", python("print('last words', flush=True)"), tmp_path / "log")
    deadline = time.monotonic() + 20
    while host.is_alive(service) and time.monotonic() < deadline:
        time.sleep(0.02)
    with pytest.raises(CommandFailed, match=r"(?s)ends ended by itself:.*last words"):
        service.check_alive()


def test_what_a_generator_and_each_part_of_the_servers_use_is_told_apart(
    host: LocalHost, tmp_path: Path
) -> None:
    quiet = host.start("quiet", python(WAIT), tmp_path / "quiet.log")
    busy = host.start("busy", python(BURN.format(seconds=30)), tmp_path / "busy.log")
    parts = {"quiet": [quiet.process], "busy": [busy.process]}
    network = [Process(host, quiet.pid)]
    output, usage = run_measured(host, python(BURN.format(seconds=0.5)), parts, network=network)
    host.stop(quiet)
    host.stop(busy)
    assert output == "burned\n"
    quiet_cpu = usage.server_parts["quiet"].cpu_seconds
    assert usage.generator.cpu_seconds >= 0.5
    assert quiet_cpu < usage.generator.cpu_seconds
    assert quiet_cpu < usage.server_parts["busy"].cpu_seconds
    parts_cpu = sum(used.cpu_seconds for used in usage.server_parts.values())
    assert usage.server.cpu_seconds == pytest.approx(parts_cpu)
    assert usage.network.pss_bytes > 1 << 20
    assert min(used.pss_bytes for used in usage.server_parts.values()) > 1 << 20


def test_a_generator_that_fails_is_no_run(host: LocalHost) -> None:
    with pytest.raises(CommandFailed, match=r"(?s)failed:.*no connection"):
        host.timed(python("import sys; sys.exit('no connection')"))


def test_a_generator_does_not_outlive_an_interrupted_run(host: LocalHost, tmp_path: Path) -> None:
    noted = tmp_path / "pid"
    program = f"import os, time; open({str(noted)!r}, 'w').write(str(os.getpid())); time.sleep(60)"

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 2.0)
        with pytest.raises(KeyboardInterrupt):
            host.timed(python(program))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert processes.tree([int(noted.read_text())]) == []


def test_a_file_is_written_for_its_owner_alone(host: LocalHost, tmp_path: Path) -> None:
    place = tmp_path / "new" / "secret"
    host.write(place, "x")
    assert place.read_text() == "x"
    assert place.stat().st_mode & 0o777 == 0o600


def test_a_free_port_can_be_listened_on(host: LocalHost) -> None:
    port = host.free_port()
    program = f"import socket; socket.create_server(('{host.address}', {port}))"
    assert host.run(python(program)) == ""
