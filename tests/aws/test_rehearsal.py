"""All of bench/aws/run on three fresh Debian hosts of this machine, with terraform alone stood in for.

up provisions for real, over ssh and with sudo, as on AWS, and the extensions are built on the
server; bench measures a few cells of the real harness; fetch, down. The timer is systemd's own. Takes about
ten minutes, needs root and the package registries: `make test-aws`. The tests
go on from each other in the order of this file.
"""

import json
import os
import string
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.aws.conftest import ROOT, Operator, clone, settle
from tests.provision.debian_hosts import DebianHost, copy_repository, debian_hosts

pytestmark = pytest.mark.skipif(
    os.environ.get("PGBOOST_TEST_HOSTS") != "1",
    reason="needs root and boots hosts: make test-aws",
)
ROLES = ("server", "store", "client")
MINUTES = 200


def _first_boot(host: DebianHost) -> None:
    """What cloud-init does on AWS with the hosts' user data, which Terraform has filled in."""
    template = string.Template((ROOT / "bench/aws/first_boot.sh.tftpl").read_text())
    script = Path(host.root, "home/admin/first_boot.sh")
    script.write_text(template.substitute(role=host.name, minutes=MINUTES))
    host.output("sudo sh /home/admin/first_boot.sh")


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, DebianHost]]:
    """Three hosts on which nothing was installed."""
    with debian_hosts(ROLES, tmp_path_factory.mktemp("hosts")) as booted:
        for host in booted.values():
            _first_boot(host)
        yield booted


@pytest.fixture(scope="module")
def operator(
    tmp_path_factory: pytest.TempPathFactory, hosts: dict[str, DebianHost]
) -> Iterator[Operator]:
    """An operator whose terraform finds those hosts, and whose Python is this repository's."""
    place = tmp_path_factory.mktemp("operator")
    machine = Operator(place / "clone", place / "home")
    clone(machine.clone, copy_repository)
    settle(machine.home)
    (machine.clone / ".venv").symlink_to(ROOT / ".venv")
    for name in ("key", "key.pub"):
        (machine.home / name).write_bytes(hosts["server"].key.with_name(name).read_bytes())
    made = {
        host.name: {"kind": "ssh", "reach": f"admin@{host.address}", "address": host.address}
        for host in hosts.values()
    }
    (machine.home / "made.json").write_text(json.dumps({"name": "aws", "hosts": made}))
    yield machine
    machine.run("down")


def done(operator: Operator, *arguments: str) -> str:
    """What a verb printed, which must have worked."""
    result = operator.run(*arguments, STAND_IN_TOPOLOGY=str(operator.home / "made.json"))
    assert result.returncode == 0, (result.stdout + result.stderr)[-3000:]
    return result.stdout


def up(operator: Operator) -> str:
    """`up` as a user would, without the question."""
    own = ("--caller-cidr", "192.0.2.7/32", "--public-key", str(operator.key))
    return done(operator, "up", *own, "--yes", "--keep", "--var", f"minutes={MINUTES}")


def test_up_provisions_all_three(operator: Operator) -> None:
    said = up(operator)
    for role in ROLES:
        assert f"[{role}] ==> this host is ready to be the {role}" in said
    assert "building pgboost and installing it" in said


def test_the_server_has_the_extensions(hosts: dict[str, DebianHost]) -> None:
    listed = hosts["server"].output(
        "ls $(pg_config --pkglibdir 2>/dev/null || echo /usr/lib/postgresql/15/lib)"
    )
    assert {"pgboost.so", "pgboost_train.so"} <= set(listed.split())


def test_a_second_up_installs_nothing(operator: Operator) -> None:
    said = up(operator)
    assert "installing" not in said.replace("already installed", "")
    assert "bringing the repository" not in said


def test_every_host_will_end_itself(operator: Operator) -> None:
    lines = done(operator, "status").splitlines()
    left = [int(line.split("in ")[1].split()[0]) for line in lines]
    assert len(left) == len(ROLES)
    assert all(MINUTES - 5 <= minutes <= MINUTES for minutes in left)


def test_bench_measures_and_sets_the_timers_anew(
    operator: Operator, hosts: dict[str, DebianHost]
) -> None:
    for host in hosts.values():
        host.output("sudo shutdown -h +20")
    done(
        operator, "bench", "--", "--workload", "quick", "--rows", "20000", "--seconds", "1",
        "--only", "postgres_direct/simple/hot/25t/5c", "--only", "python_tuned/http/hot/25t/5c",
    )  # fmt: skip
    (results,) = operator.clone.glob("bench/results/*/results.json")
    result = json.loads(results.read_text())
    assert result["topology"]["name"] == "aws"
    assert set(result["topology"]["roles"]) == set(ROLES)
    assert all(cell["requests_per_second"]["median"] > 0 for cell in result["cells"])
    assert "in 19" in done(operator, "status")


def test_fetch_brings_logs_and_results_measured_there(
    operator: Operator, hosts: dict[str, DebianHost]
) -> None:
    there = "/opt/pgboost/bench/results/by-hand"
    hosts["client"].output(f"mkdir -p {there} && echo '{{}}' > {there}/results.json")
    done(operator, "fetch")
    assert (operator.clone / "bench/results/by-hand/results.json").read_text() == "{}\n"
    assert [*(operator.state / "logs/server").rglob("*.log")]


def test_down_forgets_the_hosts(operator: Operator) -> None:
    assert "everything is down" in done(operator, "down")
    assert operator.asked()[-1] == "destroy"
    assert not (operator.state / "topology.json").exists()


def test_a_host_whose_time_is_over_ends(hosts: dict[str, DebianHost]) -> None:
    # What the timer runs, at once; on AWS the host's own shutdown terminates it.
    hosts["store"].ssh("sudo shutdown -h now")
    assert hosts["store"].gone()
