"""The hosts of bench/aws, planned, made and deleted by Terraform on a simulation of AWS (moto).

What the simulation does not know is not tested: placement groups, the real image, prices, a first boot.
`TF_CLI_ARGS_init=-plugin-dir=DIRECTORY` names a provider where Terraform's registry cannot be reached.
"""

import hashlib
import json
import os
import shutil
import subprocess
import time
import urllib.request
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench.hosts import local
from bench.topology import ROLES, read

FILES = Path(__file__).resolve().parents[3] / "bench" / "aws"
CALLER = "203.0.113.7/32"
# The image that variables.tf names, as the simulation has it.
IMAGE = {
    "ami_id": "ami-0000000000000001a", "name": "debian-12-amd64-20260923-2610", "description": "Debian 12",
    "owner_id": "136693071363", "owner_alias": "debian", "public": True, "virtualization_type": "hvm",
    "architecture": "x86_64", "state": "available", "platform": None, "image_type": "machine",
    "hypervisor": "xen", "root_device_name": "/dev/xvda", "root_device_type": "ebs", "sriov": "simple",
    "creation_date": "2026-09-23T00:00:00.000Z",
}  # fmt: skip
OVERRIDE = """provider "aws" {{
  access_key                  = "test"
  secret_key                  = "test"
  skip_credentials_validation = true
  skip_metadata_api_check     = true
  skip_requesting_account_id  = true
  endpoints {{
    ec2 = "{at}"
    sts = "{at}"
  }}
}}
"""

pytestmark = pytest.mark.skipif(
    not (shutil.which("terraform") and shutil.which("moto_server")),
    reason="needs terraform and moto_server",
)


@pytest.fixture(scope="module")
def simulation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The simulation's address."""
    directory = tmp_path_factory.mktemp("moto")
    images = directory / "images.json"
    images.write_text(json.dumps([IMAGE]))
    port = local(directory).free_port()
    environment = os.environ | {"MOTO_AMIS_PATH": str(images)}
    with (directory / "log").open("w") as log:
        command = ["moto_server", "-p", str(port)]
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    at = f"http://127.0.0.1:{port}"
    deadline = time.monotonic() + 30
    while True:
        try:
            urllib.request.urlopen(f"{at}/moto-api/data.json", timeout=1).close()
            break
        except OSError:
            assert process.poll() is None and time.monotonic() < deadline, log.name
            time.sleep(0.2)
    yield at
    process.terminate()
    process.wait(20)


@pytest.fixture(scope="module")
def directory(simulation: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files, initialized, with a provider that uses the simulation."""
    made = tmp_path_factory.mktemp("terraform")
    for path in FILES.glob("*.tf*"):
        shutil.copy(path, made)
    (made / "override.tf").write_text(OVERRIDE.format(at=simulation))
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(made / "key")], check=True
    )
    done = terraform(made, "init", "-input=false")
    if done.returncode and "registry" in done.stdout + done.stderr:
        pytest.skip("needs Terraform's registry")
    assert done.returncode == 0
    return made


def terraform(
    directory: Path, verb: str, *arguments: str, caller: str = CALLER
) -> subprocess.CompletedProcess[str]:
    variables = {
        "TF_VAR_caller_cidr": caller, "TF_VAR_public_key_file": str(directory / "key.pub"),
        "TF_VAR_placement_group": "false",
    }  # fmt: skip
    return subprocess.run(
        ["terraform", f"-chdir={directory}", verb, *arguments], env=os.environ | variables,
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip


def test_the_files_are_formatted_and_valid(directory: Path) -> None:
    assert subprocess.run(["terraform", "fmt", "-check", str(FILES)], check=False).returncode == 0
    done = terraform(directory, "validate")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("caller", ["0.0.0.0/0", "10.0.0.0/8", "nobody"])
def test_ssh_from_everywhere_is_refused(directory: Path, caller: str) -> None:
    done = terraform(directory, "plan", "-input=false", caller=caller)
    assert done.returncode != 0
    assert "caller_cidr" in done.stderr


def made_of(directory: Path) -> dict[str, list[dict[str, Any]]]:
    """Returns the resources in the state, by kind."""
    state = json.loads(terraform(directory, "show", "-json").stdout)
    found = defaultdict(list)
    for one in state["values"]["root_module"]["resources"]:
        found[one["type"]].append(one["values"])
    return found


def test_hosts_are_made_that_end_themselves_and_deleted_again(directory: Path) -> None:
    done = terraform(directory, "apply", "-auto-approve", "-input=false")
    assert done.returncode == 0, done.stderr
    try:
        made = made_of(directory)
        assert len(made["aws_instance"]) == 3
        # The state has the sum of what cloud-init is given.
        first_boot = (FILES / "first_boot.sh.tftpl").read_text().replace("${minutes}", "240")
        assert "shutdown -h +240" in first_boot
        sums = {
            hashlib.sha1(first_boot.replace("${role}", role).encode()).hexdigest() for role in ROLES
        }
        assert {host["user_data"] for host in made["aws_instance"]} == sums
        for host in made["aws_instance"]:
            assert host["instance_initiated_shutdown_behavior"] == "terminate"
            assert host["metadata_options"][0]["http_tokens"] == "required"
            assert host["root_block_device"][0]["encrypted"]
        ssh = [one for one in made["aws_vpc_security_group_ingress_rule"] if one["from_port"] == 22]
        assert [one["cidr_ipv4"] for one in ssh] == [CALLER]
        # The others are from each other.
        rest = [one for one in made["aws_vpc_security_group_ingress_rule"] if one not in ssh]
        assert all(one["referenced_security_group_id"] and not one["cidr_ipv4"] for one in rest)
        topology = directory / "topology.json"
        topology.write_text(terraform(directory, "output", "-json", "topology").stdout)
        found = read(topology, directory)
        assert len({host.address for host in (found.server, found.store, found.client)}) == 3
    finally:
        done = terraform(directory, "destroy", "-auto-approve", "-input=false")
    assert done.returncode == 0, done.stderr
    assert terraform(directory, "state", "list").stdout == ""
