"""Three namespaces reach each other, as late as they are told, and nothing of them stays.

Nothing here says how fast anything is: what is waited for is the delay that was asked for.
"""

import hashlib
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path

import pytest

from bench import processes
from bench.hosts import Host, Service
from bench.split import PREFIX, PROGRAM, split
from bench.topology import ROLES, BadTopology, Topology
from tests.connections import until

ROOT = Path(__file__).resolve().parents[2]


TRY = ["sh", "-c", "unshare --net true && ip netns list"]
LACKING = os.geteuid() != 0 or subprocess.run(TRY, capture_output=True, check=False).returncode
pytestmark = [
    pytest.mark.skipif(bool(LACKING), reason="needs root, ip and network namespaces"),
    pytest.mark.usefixtures("only_split"),
]


def said(*words: str) -> str:
    """Runs a program and returns its output."""
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def existing() -> list[str]:
    """Returns the namespaces of runs."""
    listed = said("ip", "netns", "list").splitlines()
    return [line.split()[0] for line in listed if line.startswith(PREFIX)]


@pytest.fixture(scope="module")
def topology(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Topology]:
    with split(tmp_path_factory.mktemp("split")) as made:
        yield made
    assert existing() == []


def _listening(host: Host, program: str) -> tuple[Service, int]:
    """A server of one connection: `c` is its socket."""
    port = host.free_port()
    listen = f"import socket; s = socket.create_server(({host.address!r}, {port}))"
    accept = "c, _ = s.accept()"
    command = [host.python, "-c", f"{listen}\n{accept}\n{program}"]
    service = host.start(command, host.directory / "listens.log")
    # It accepts one connection, so it is not probed.
    until(lambda: f":{port} " in host.run(["ss", "-ltn"]))
    return service, port


def _connected(other: Host, port: int, program: str) -> list[str]:
    """Returns the arguments of Python for a program with a connection `c`, made in `took` seconds."""
    connect = (
        "import hashlib, socket, sys, time; began = time.perf_counter();"
        f" c = socket.create_connection(({other.address!r}, {port}), 20);"
        " took = time.perf_counter() - began"
    )
    return ["-c", f"{connect}\n{program}"]


def _ask(host: Host, other: Host, port: int, program: str) -> str:
    """Runs such a program and returns its output."""
    return host.run([host.python, *_connected(other, port, program)]).strip()


def test_every_host_reaches_every_other_by_its_address(topology: Topology) -> None:
    for delay in (None, 0.0, 0.25):
        topology.links.set_delay(delay)
        for source, target in permutations(topology.hosts, 2):
            service, port = _listening(target, "c.send(c.getpeername()[0].encode())")
            assert _ask(source, target, port, "print(c.recv(99).decode())") == source.address
            service.stop()


@pytest.mark.parametrize("milliseconds", [0.1, 0.5, 5.0])
def test_a_handshake_takes_a_round_trip(topology: Topology, milliseconds: float) -> None:
    topology.links.set_delay(milliseconds)
    service, port = _listening(topology.server, "c.recv(1)")
    took = float(_ask(topology.client, topology.server, port, "print(took)"))
    service.stop()
    assert took >= 2 * milliseconds / 1e3


def test_the_measured_round_trip_is_of_the_delay(
    topology: Topology, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench.topology.SAMPLES", 200)
    trips = topology.round_trips([None, 1.0])
    pairs = {("client", "store"), ("client", "server"), ("store", "server")}
    assert {(trip.source, trip.target) for trip in trips} == pairs
    assert all(trip.p50_us >= 2_000 for trip in trips if trip.delay_ms == 1.0)
    assert [trip.delay_ms for trip in trips] == [None] * 3 + [1.0] * 3


@pytest.mark.parametrize("milliseconds", [0.0, 0.5])
def test_bytes_arrive_whole_and_in_order(topology: Topology, milliseconds: float) -> None:
    size = 64 << 20
    topology.links.set_delay(milliseconds)
    send = f"import random; data = random.Random(1).randbytes({size}); c.sendall(data)"
    service, port = _listening(topology.server, send)
    digest = "h = hashlib.sha256()\nwhile d := c.recv(1 << 20): h.update(d)\nprint(h.hexdigest())"
    found = _ask(topology.client, topology.server, port, digest)
    service.stop()
    assert found == hashlib.sha256(random.Random(1).randbytes(size)).hexdigest()


def test_the_way_can_change_under_an_open_connection(topology: Topology) -> None:
    topology.links.set_delay(None)
    service, port = _listening(topology.server, "while d := c.recv(1): c.send(d)")
    say = "for line in sys.stdin: c.send(b'x'); print(c.recv(1).decode(), flush=True)"
    program = [topology.client.python, *_connected(topology.server, port, say)]
    command = ["ip", "netns", "exec", PREFIX + "client", *program]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        for delay in (None, 0.0, 2.0, None, 0.0):
            topology.links.set_delay(delay)
            process.stdin.write("\n")
            process.stdin.flush()
            assert process.stdout.readline() == "x\n"
        process.stdin.close()
    service.stop()


def test_the_means_of_the_delay_is_in_the_result(
    topology: Topology, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench.topology.SAMPLES", 500)
    topology.round_trips([0.1])
    settings = topology.facts([]).settings
    assert {"delay", "processors", "carried"} == settings.keys()
    carried = settings["carried"]
    assert carried["packets"] >= 3 * 2 * 500
    assert sum(carried["late_by_less_than_us"].values()) == carried["packets"]
    (process,) = topology.links.processes()
    assert processes.tree([process.pid])


def test_a_packet_to_nobody_is_dropped(topology: Topology) -> None:
    topology.links.set_delay(0.0)
    topology.links.report()
    client = PREFIX + "client"
    subprocess.run(["ip", "-n", client, "route", "add", "10.83.0.99/32", "dev", "wire"], check=True)
    program = "import socket; socket.socket(2, 2).sendto(b'x', ('10.83.0.99', 9))"
    topology.client.run([sys.executable, "-c", program])
    until(lambda: topology.links.report()["dropped"] == 1)


def test_another_run_is_refused_meanwhile(topology: Topology, tmp_path: Path) -> None:
    with pytest.raises(BadTopology, match="another run"), split(tmp_path):
        pytest.fail("there were two")
    assert topology.server.run(["true"]) == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "at least two hosts are needed"),
        (("/proc/self/ns/net",), "not one of at most 16 NAMESPACE=ADDRESS"),
        (("/proc/self/ns/net=here",), "not an IPv4 address: here"),
        (("/nowhere=10.0.0.1",), "/nowhere cannot be entered"),
    ],
)
def test_the_delay_line_reports_errors(
    topology: Topology, arguments: tuple[str, ...], message: str
) -> None:
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith(f"delay_line: {message}")


@pytest.mark.parametrize("role", [*ROLES, "nowhere"])
def test_each_host_is_made_ready_for_its_role(role: str, tmp_path: Path) -> None:
    """In a namespace, from which no package registry can be reached."""
    host = [str(ROOT / "bench" / "provision" / "host.sh"), role.replace("nowhere", "server")]
    lacking = {"PG_CONFIG": str(tmp_path / "pg_config")} if role == "nowhere" else {}
    command, environment = ["unshare", "--net", *host], os.environ | lacking
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    if not lacking:
        assert f"==> this host is ready to be the {role}" in said.splitlines()
    assert bool(done.returncode) == bool(lacking), said
    missing = ("missing", "postgresql-15", str(tmp_path)) if lacking else ()
    assert [word for word in missing if word not in said] == []
