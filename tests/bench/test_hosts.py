"""Hosts, on this machine and behind ssh: commands, servers and their end, files, measuring, topologies."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench import processes, results
from bench.harness import Harness
from bench.hosts import ROOT, CommandFailed, Host, Login, Process, local, over_ssh, run_measured
from bench.site import Site
from bench.split import opened
from bench.systems.description import described
from bench.topology import BadTopology, on_this_machine, read
from bench.workload import WORKLOADS, Set
from tests.connections import until

BURN = "import time\nwhile time.process_time() < {}:\n    pass\nprint('burned')"
WAIT = "import time; print('begun', flush=True); time.sleep(60)"
DEAF = "import signal, time; signal.signal(15, signal.SIG_IGN); print('begun', flush=True); time.sleep(60)"
SLOW = (
    "import signal, sys, time; signal.signal(15, lambda *_: (time.sleep(1), sys.exit()));"
    "print('begun', flush=True); time.sleep(60)"
)
LISTEN = "import socket, time; s = socket.create_server(('127.0.0.1', {})); time.sleep(60)"


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("here")


@pytest.fixture(scope="module", params=["local", "ssh"])
def host(request: pytest.FixtureRequest, here: Path) -> Iterator[Host]:
    if request.param == "ssh":
        made = over_ssh("there", request.getfixturevalue("login"), here)
    else:
        made = local(here)
    yield made
    made.close()


def python(host: Host, program: str) -> list[str]:
    return [host.python, "-c", program]


def wait_for(log: Path, text: str) -> None:
    until(lambda: text in log.read_text(errors="replace"))


def test_a_command_returns_its_output_or_raises(host: Host) -> None:
    assert host.run(["printf", "a 'word'\n"]) == "a 'word'\n"
    words = ["two  words", "$HOME", "a'b", "*"]
    assert host.run(["printf", "%s\n", *words]).splitlines() == words
    with pytest.raises(CommandFailed, match=r"(?s)python\S* failed:.*what is wrong"):
        host.run(python(host, "import sys; sys.exit('what is wrong')"))
    with pytest.raises(CommandFailed, match="no-such-program is not installed"):
        host.run(["no-such-program"])
    with pytest.raises(CommandFailed, match=r"(?s)failed:.*no connection"):
        run_measured(host, python(host, "import sys; sys.exit('no connection')"), {})


@pytest.mark.parametrize("apart", [False, True])
def test_a_function_returns_or_raises(host: Host, apart: bool) -> None:
    with pytest.raises(CommandFailed, match="ConnectionRefusedError"):
        host.call("bench.topology:ask", apart=apart, address="127.0.0.1", port=1)
    assert host.call("bench.record:packages", apart=apart, names=["numpy"])["numpy"]


def test_libpq_ignores_the_users_environment(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGHOST", "elsewhere")
    monkeypatch.setenv("PG_CONFIG", "/some/pg_config")
    monkeypatch.setenv("PGBOOST_QUICK", "1")
    lines = local(here).run(["env"], {"PGPORT": "1"}).splitlines()
    builds = ("PGRX", "PGBOOST_")
    said = {line for line in lines if line.startswith("PG") and not line.startswith(builds)}
    assert said == {"PG_CONFIG=/some/pg_config", "PGPORT=1"}
    assert "PGBOOST_QUICK=1" in lines


def test_no_command_line_holds_a_secret(host: Host) -> None:
    service = host.start(python(host, WAIT), host.directory / "secret.log", {"SECRET": "hush-hush"})
    seen = host.run(["ps", "-eo", "args"], {"PGPASSWORD": "hush-hush"})
    service.stop()
    assert "ps -eo args" in seen
    assert "hush-hush" not in seen


@pytest.mark.parametrize("program", [WAIT, DEAF])
def test_a_server_that_ignores_the_signal_is_killed(here: Path, program: str) -> None:
    host, log = local(here), here / "stopped.log"
    log.write_text("")
    service = host.start(python(host, program), log)
    wait_for(log, "begun")
    assert processes.tree([service.pid])
    # Another time there is nothing to do.
    for _ in range(2):
        service.stop()
        assert not processes.tree([service.pid])


def test_a_server_is_ready_when_it_listens_and_reported_when_it_ends(host: Host) -> None:
    port = host.free_port()
    service = host.start(python(host, LISTEN.format(port)), host.directory / "listens.log")
    assert service.ready(port) == (host.address, port)
    service.stop()
    program = "print('last words', flush=True)"
    service = host.start(python(host, program), host.directory / "ends.log")
    with pytest.raises(CommandFailed, match=r"(?s)does not answer:.*last words"):
        service.ready(host.free_port())


def test_servers_end_with_the_harness_even_if_it_is_killed(here: Path) -> None:
    log = here / "orphans.log"
    program = (
        "from pathlib import Path; from bench.hosts import local\n"
        f"host, log = local(Path({str(here)!r})), Path({str(log)!r})\n"
        f"for program in ({SLOW!r}, {WAIT!r}):\n"
        "    print(host.start([host.python, '-c', program], log).pid, flush=True)\n"
        "host.run(['sleep', '60'])"
    )
    log.write_text("")
    with subprocess.Popen(
        [sys.executable, "-c", program], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as run:
        pids = [int(run.stdout.readline()) for _ in range(2)]
        # Both run, and a command is waited for.
        wait_for(log, "begun\nbegun")
        time.sleep(0.5)
        run.kill()
    until(lambda: processes.tree(pids), [])


def test_an_agent_ends_after_half_a_question() -> None:
    """As an interrupt may leave it, in the middle of a long one."""
    command, pipe = [sys.executable, "-m", "bench.agent"], subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, stdin=pipe, stderr=pipe, text=True) as agent:
        agent.stdin.write('{"verb": "write", "content": "AAAA')
        try:
            agent.communicate(timeout=60)
        finally:
            agent.kill()
    assert agent.returncode == 0


def test_files_and_directories_are_copied(host: Host, here: Path) -> None:
    directory = here / "a b" / "scripts"
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "one").write_text("1")
    (directory / "two").write_bytes(bytes(range(256)))
    host.put(here / "a b")
    assert host.run(["cat", directory / "one"]) == "1"
    assert Path(host.there(directory / "two")).read_bytes() == bytes(range(256))
    # A file of the repository has the same name below the one there.
    assert host.run(["head", "-n1", ROOT / "bench/requests.py"]).startswith('"""')
    place = host.directory / "new" / "secret"
    host.write(place, b"x")
    assert Path(place).read_text() == "x"
    assert Path(place).stat().st_mode & 0o777 == 0o600


def test_usage_of_generator_and_server_parts_is_separate(host: Host) -> None:
    quiet = host.start(python(host, WAIT), host.directory / "quiet.log")
    busy = host.start(python(host, BURN.format(30)), host.directory / "busy.log")
    parts = {"quiet": [quiet], "busy": [busy]}
    network = [Process(host, quiet.pid)]
    output, usage = run_measured(host, python(host, BURN.format(0.5)), parts, network=network)
    quiet.stop()
    busy.stop()
    assert output == "burned\n"
    cpu = {part: used.cpu_seconds for part, used in usage.server_parts.items()}
    assert usage.generator.cpu_seconds >= 0.5
    assert cpu["quiet"] < min(usage.generator.cpu_seconds, cpu["busy"])
    assert usage.server.cpu_seconds == pytest.approx(sum(cpu.values()))
    used = (usage.network, *usage.server_parts.values())
    assert min(one.pss_bytes for one in used) > 1 << 20


def test_an_interrupted_run_ends_its_generator_and_cleans_up(here: Path) -> None:
    host, noted = local(here), here / "pid"
    program = f"import os, time; open({str(noted)!r}, 'w').write(str(os.getpid())); time.sleep(60)"

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 2.0)
        with pytest.raises(KeyboardInterrupt):
            run_measured(host, python(host, program), {})
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert host.run(["echo", "there"]) == "there\n"
    assert processes.tree([int(noted.read_text())]) == []


def test_a_machine_that_cannot_be_reached_is_named(login: Login, here: Path) -> None:
    for wrong in ({"repository": "/nowhere"}, {"reach": "nobody-at-all@127.0.0.1"}):
        with pytest.raises(CommandFailed, match=r"(?s)away: ssh .* failed:\n.+"):
            over_ssh("away", replace(login, **wrong), here).run(["true"])


def test_cells_are_measured_through_ssh(
    login: Login, here: Path, tmp_path: Path, machine: Path
) -> None:
    roles = dict.fromkeys(("server", "store", "client"), "box")
    path = here / "topology.json"
    known = {"name": "box", "roles": roles, "hosts": {"box": vars(login) | {"kind": "ssh"}}}
    path.write_text(json.dumps(known))
    names = ("postgres_direct", "postgres_pgbouncer", "python_tuned")
    workload = replace(
        WORKLOADS["quick"], name="test", seconds=1, warm_up_seconds=0, keys=200,
        keys_one_at_a_time=200, rows=5_000, training_rounds=0,
        cells={
            "random": Set(("random",), (2,), (5,), systems=names),
            "rates": Set(("random",), (2,), (5,), rates=(100,), systems=names),
        },
    )  # fmt: skip
    with opened(str(path), here) as topology:
        site = Site(workload, topology, here)
        measured = Harness(site, workload.cells_of(described()), tmp_path).run()
    results.write(tmp_path / "results.json", measured)
    assert (measured.topology.name, measured.topology.roles) == ("box", roles)
    assert measured.topology.hosts["box"]["kernel"] == os.uname().release
    for cell in measured.cells:
        assert len(cell.runs) == (0 if cell.skipped else 1)
        for run in cell.runs:
            assert run.server.cpu_seconds > 0
            assert run.generator.pss_bytes > 1 << 18
    assert not [path for path in (machine, ROOT, sys.prefix) if str(path) in repr(measured)]


HOST = {"kind": "ssh", "reach": "admin@192.0.2.1", "address": "198.51.100.1"}
GOOD = {"name": "cloud", "hosts": dict.fromkeys(("server", "store", "client"), HOST)}


def written(directory: Path, value: Any) -> Path:
    path = directory / "topology.json"
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return path


def test_each_role_has_its_host(tmp_path: Path) -> None:
    topology = read(written(tmp_path, GOOD), tmp_path)
    assert [host.name for host in topology.hosts] == ["server", "store", "client"]
    assert topology.server.address == HOST["address"]
    roles = {"server": "large", "store": "small", "client": "small"}
    value = {"name": "two", "roles": roles, "hosts": {"large": HOST, "small": HOST}}
    topology = read(written(tmp_path, value), tmp_path)
    assert {role: host.name for role, host in topology.roles.items()} == roles
    assert len(topology.hosts) == 2


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("{", "topology.json"),
        ([], "it is no topology"),
        ({"name": "x"}, "it is no topology: KeyError.'hosts'"),
        ({**GOOD, "hosts": {"server": HOST}}, "store"),
        ({**GOOD, "hosts": {"server": {**HOST, "kind": "carrier pigeon"}}}, '"kind" must be "ssh"'),
        ({**GOOD, "hosts": {"server": {**HOST, "colour": "red"}}}, "host server: .*colour"),
        ({**GOOD, "hosts": {"server": {"kind": "ssh", "reach": "a"}}}, "host server: .*address"),
    ],
)
def test_an_invalid_topology_is_refused(tmp_path: Path, value: Any, message: str) -> None:
    with pytest.raises(BadTopology, match=message):
        read(written(tmp_path, value), tmp_path)
    with pytest.raises(BadTopology, match="there are local, split, or a file"):
        opened("nowhere", tmp_path).__enter__()


def test_one_machine_has_all_roles_and_a_round_trip_to_itself(tmp_path: Path) -> None:
    topology = on_this_machine(directory=tmp_path)
    (trip,) = topology.round_trips()
    facts = topology.facts([trip])
    assert facts.roles == dict.fromkeys(("server", "store", "client"), "local")
    assert facts.hosts["local"]["cores"]
    assert (trip.source, trip.target, trip.via, trip.delay_ms) == ("local", "local", "tcp", None)
    assert 0 < trip.p50_us <= trip.p99_us
    with pytest.raises(BadTopology, match="split only"):
        topology.round_trips([0.25])
