"""The hosts of the topology split are made ready by the scripts that the cloud's hosts are made ready by."""

from pathlib import Path

import pytest

from bench.hosts import CommandFailed
from bench.opening import opened
from bench.split.namespaces import existing
from bench.topology import ROLES
from tests.bench.test_split import pytestmark as needs_namespaces

pytestmark = needs_namespaces


def test_each_host_is_made_ready_by_the_script_of_its_role(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with opened("split", tmp_path):
        said = capsys.readouterr().out.splitlines()
    ready = [line for line in said if "this host is ready" in line]
    assert ready == [f"[{role}] ==> this host is ready to be the {role}" for role in ROLES]


def test_a_host_that_cannot_be_made_ready_ends_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PG_CONFIG", str(tmp_path / "pg_config"))
    with (
        pytest.raises(
            CommandFailed, match=r"(?s)provision/server\.sh failed:.*no server"
        ) as failed,
        opened("split", tmp_path),
    ):
        pytest.fail("it was opened")
    assert str(tmp_path) in str(failed.value)
    assert existing() == []
