"""A topology's file is read whole or refused, and every host of a result is named."""

import json
from pathlib import Path
from typing import Any

import pytest

from bench.split import opened
from bench.topology import BadTopology, on_this_machine, read

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
