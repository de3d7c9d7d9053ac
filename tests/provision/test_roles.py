"""The role scripts on fresh Debian 12 hosts.

They take some minutes, in which the client builds oha, and need root and Debian's archive: `make test-aws`.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.provision.debian_hosts import DebianHost, copy_repository, debian_hosts

pytestmark = pytest.mark.skipif(
    os.environ.get("PGBOOST_TEST_HOSTS") != "1",
    reason="needs root and boots hosts: make test-aws",
)
PROVISION = "/opt/pgboost/bench/provision"


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, DebianHost]]:
    """A store and a client with the repository, owned by admin, and nothing more."""
    with debian_hosts(("store", "client"), tmp_path_factory.mktemp("hosts")) as booted:
        for host in booted.values():
            copy_repository(Path(host.root, "opt/pgboost"))
            host.output("sudo chown -R admin: /opt/pgboost")
        yield booted


def provisioned(host: DebianHost, *arguments: str) -> str:
    """What the script of the host's role says."""
    return host.output(" ".join(("sudo", f"{PROVISION}/{host.name}.sh", *arguments)))


@pytest.fixture(scope="module")
def store(hosts: dict[str, DebianHost]) -> DebianHost:
    """The store, provisioned."""
    assert "installing redis-server" in provisioned(hosts["store"], "--tune")
    return hosts["store"]


@pytest.fixture(scope="module")
def client(hosts: dict[str, DebianHost]) -> DebianHost:
    """The client, provisioned without --tune."""
    provisioned(hosts["client"])
    return hosts["client"]


def test_the_store_has_redis_and_python_and_runs_no_service(store: DebianHost) -> None:
    assert "v=7" in store.output("redis-server --version")
    store.output("python3 --version")
    assert store.ssh("systemctl is-active redis-server").stdout.strip() == "inactive"
    assert store.ssh("systemctl is-enabled redis-server").stdout.strip() == "disabled"


def test_a_redis_of_the_harness_answers_there(store: DebianHost) -> None:
    start = "redis-server --port 6400 --save '' --daemonize yes --pidfile /tmp/redis.pid >/dev/null"
    answer = store.output(f"{start}; sleep 1; redis-cli -p 6400 ping; redis-cli -p 6400 shutdown")
    assert "PONG" in answer


def test_tuning_raises_what_is_lower(store: DebianHost) -> None:
    names = "net.core.somaxconn net.ipv4.tcp_max_syn_backlog"
    values = store.output(f"sudo sysctl --values {names}").split()
    assert all(int(value) >= 4096 for value in values)
    # In force for the next login, which each ssh is.
    assert store.output("ulimit -n").strip() == "16384"


def test_without_tune_nothing_of_the_kernel_changes(client: DebianHost) -> None:
    files = "/etc/sysctl.d/60-pgboost-bench.conf /etc/security/limits.d/60-pgboost-bench.conf"
    assert client.ssh(f"ls {files}").stdout == ""


def test_the_client_has_every_load_generator(client: DebianHost) -> None:
    client.output("command -v wrk && /usr/lib/postgresql/15/bin/pgbench --version")
    if Path(__file__).parents[2].joinpath("toolchain/cargo_program.sh").exists():
        client.output("/opt/pgboost/.build/cargo/bin/oha --version")


def test_the_clients_python_has_what_is_locked(client: DebianHost) -> None:
    client.output("/opt/pgboost/.venv/bin/python -c 'import psycopg, numpy, redis'")


def test_the_tree_belongs_to_the_user_whom_sudo_served(client: DebianHost) -> None:
    assert client.output("find /opt/pgboost ! -user admin -print -quit") == ""


def test_a_second_run_installs_nothing(store: DebianHost, client: DebianHost) -> None:
    for host in (store, client):
        lines = provisioned(host, "--tune" if host is store else "").splitlines()
        assert lines == [f"==> this host is ready to be the {host.name}"]


def test_it_says_what_it_cannot_do(store: DebianHost) -> None:
    refused = store.ssh(f"{PROVISION}/store.sh")
    assert (refused.returncode, "this needs root" in refused.stderr) == (1, True)
    refused = store.ssh(f"sudo {PROVISION}/store.sh --quick")
    assert (refused.returncode, "no such argument: --quick" in refused.stderr) == (1, True)
    assert "--tune" in store.output(f"sudo {PROVISION}/store.sh --help")
