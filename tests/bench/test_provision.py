"""The scripts of bench/provision make a host ready where everything is there, and say what is missing.

Each runs in a separate network namespace, from which no package registry can be reached.
"""

import os
import subprocess
from pathlib import Path

import pytest

from bench.topology import ROLES
from tests.bench.test_split import ROOT
from tests.bench.test_split import pytestmark as needs_namespaces

pytestmark = needs_namespaces


def provision(role: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = ["unshare", "--net", str(ROOT / "bench" / "provision" / f"{role}.sh")]
    return subprocess.run(
        command, env=os.environ | environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("role", ROLES)
def test_each_host_is_made_ready_by_the_script_of_its_role(role: str) -> None:
    done = provision(role)
    assert done.returncode == 0, done.stderr
    assert f"==> this host is ready to be the {role}" in done.stdout.splitlines()


def test_missing_requirements_are_reported(tmp_path: Path) -> None:
    done = provision("server", PG_CONFIG=str(tmp_path / "pg_config"))
    assert done.returncode != 0
    said = done.stdout + done.stderr
    assert "missing" in said
    assert "postgresql-15" in said
    assert str(tmp_path) in said
