"""bench/aws/run where no host is needed: what it tells, what it refuses, and that it cleans up."""

import json
import signal
import subprocess
import time

import pytest

from bench.aws.choices import VARIANTS, NotPossible, defaults, instance_types, resolve
from bench.aws.prices import HOURLY, estimate, overridden
from tests.aws.conftest import Operator


def test_the_defaults_are_the_hosts_of_2022() -> None:
    types = instance_types(resolve("as-2022", []))
    assert types == {"server": "c5.4xlarge", "store": "c5.large", "client": "c5.large"}


def test_every_default_of_variables_tf_is_found() -> None:
    found = defaults()
    assert (found["minutes"], found["spot"], found["availability_zone"]) == (240, False, None)
    assert "caller_cidr" not in found


def test_every_variant_is_of_known_variables_with_known_prices() -> None:
    for name, variant in VARIANTS.items():
        variables = resolve(name, [])
        assert set(variant.variables) <= set(defaults())
        assert set(instance_types(variables).values()) <= set(HOURLY)


def test_the_operators_word_goes_over_the_variants() -> None:
    variables = resolve("small-server", ["server_type=c5.xlarge", "spot=true", "minutes=60"])
    assert (variables["server_type"], variables["spot"], variables["minutes"]) == (
        "c5.xlarge",
        True,
        60,
    )


@pytest.mark.parametrize("wrong", ["colour=red", "minutes", "minutes=soon", "spot=perhaps"])
def test_a_variable_that_is_not_one_is_refused(wrong: str) -> None:
    with pytest.raises(NotPossible):
        resolve("as-2022", [wrong])


def test_the_estimate_is_the_sum_that_a_reader_can_redo() -> None:
    table = overridden(["c5.4xlarge=1", "c5.large=0.1"])
    cost = estimate(resolve("as-2022", ["minutes=60", "disk_gigabytes=730"]), table)
    # Hosts 1 + 2 x 0.1; disks 3 x 730 GB at 0.08 for 730 hours; addresses 3 x 0.005.
    assert cost.hour == pytest.approx(1.2 + 0.24 + 0.015)
    assert cost.longest == pytest.approx(cost.hour)


def test_an_unknown_type_needs_a_price(operator: Operator) -> None:
    done = operator.up("--yes", "--var", "server_type=x9.huge")
    assert done.returncode == 1
    assert "no price is known for x9.huge" in done.stderr
    assert operator.asked() == []


def test_the_cost_is_told_before_the_question_and_no_means_no(operator: Operator) -> None:
    done = operator.up()
    assert done.stdout.index("Estimated cost") < done.stdout.index("Type yes")
    assert (done.returncode, done.stderr) == (1, "error: nothing was made\n")
    assert operator.asked() == []


@pytest.mark.parametrize("network", ["0.0.0.0/0", "10.0.0.0/8", "::/0", "nonsense"])
def test_ssh_is_never_open_to_many(operator: Operator, network: str) -> None:
    done = operator.run("up", "--yes", "--public-key", str(operator.key), "--caller-cidr", network)
    assert (done.returncode, operator.asked()) == (1, [])
    assert "error: --caller-cidr" in done.stderr


def test_a_missing_key_is_named(operator: Operator) -> None:
    done = operator.run("up", "--yes", "--caller-cidr", "192.0.2.7/32")
    assert "no public key at" in done.stderr
    assert operator.asked() == []


def test_a_dry_run_runs_nothing(operator: Operator) -> None:
    done = operator.run("--dry-run", "up", "--public-key", str(operator.key))
    assert done.returncode == 0
    assert "$ terraform" in done.stdout
    assert (operator.asked(), operator.state.exists()) == ([], False)


def test_terraform_gets_the_variables(operator: Operator) -> None:
    operator.up("--yes", "--variant", "small-server", "--var", "region=eu-west-1")
    chosen = operator.chosen()
    assert (chosen["server_type"], chosen["region"]) == ("c5.large", "eu-west-1")
    assert (chosen["caller_cidr"], chosen["public_key_file"]) == ("192.0.2.7/32", str(operator.key))


def test_what_a_failed_up_made_is_taken_down(operator: Operator) -> None:
    done = operator.up("--yes", STAND_IN_FAILS="apply")
    assert operator.asked() == ["init", "apply", "destroy"]
    assert done.returncode == 1
    assert "ended with status 1" in done.stderr


def test_keep_leaves_it(operator: Operator) -> None:
    done = operator.up("--yes", "--keep", STAND_IN_FAILS="apply")
    assert operator.asked() == ["init", "apply"]
    assert "what was made stays up, and costs" in done.stdout


def applying(operator: Operator) -> subprocess.Popen[str]:
    """An `up` in the middle of terraform's apply, which will not end by itself."""
    own = ("--caller-cidr", "192.0.2.7/32", "--public-key", str(operator.key), "--yes")
    process = subprocess.Popen(
        operator.command("up", *own), env=operator.environment(STAND_IN_HANGS="apply"),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    while "apply" not in operator.asked():
        assert process.poll() is None
        time.sleep(0.02)
    return process


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_up_waits_for_terraform_and_takes_down(
    operator: Operator, sent: signal.Signals
) -> None:
    process = applying(operator)
    process.send_signal(sent)
    assert process.communicate()[1] == "interrupted\n"
    # Terraform was let come to an end, or it would not know what it had made.
    assert operator.asked() == ["init", "apply", "interrupted", "destroy"]


def test_it_takes_down_though_nobody_listens_any_more(operator: Operator) -> None:
    process = applying(operator)
    process.stdout.close()
    process.stderr.close()
    process.send_signal(signal.SIGHUP)
    assert process.wait() == 1
    assert operator.asked() == ["init", "apply", "interrupted", "destroy"]


def test_down_is_idempotent(operator: Operator) -> None:
    operator.up("--yes", "--keep", STAND_IN_FAILS="apply")
    assert "everything is down" in operator.run("down").stdout
    again = operator.run("down")
    assert (again.returncode, again.stdout) == (0, "==> nothing is up\n")
    assert operator.asked() == ["init", "apply", "destroy"]


def test_a_down_that_fails_says_what_it_costs(operator: Operator) -> None:
    operator.up("--yes", "--keep", STAND_IN_FAILS="apply")
    done = operator.run("down", STAND_IN_FAILS="destroy")
    assert done.returncode == 1
    assert "NOT everything is down" in done.stdout


def test_a_bench_that_fails_is_followed_by_down_where_that_was_asked_for(
    operator: Operator,
) -> None:
    operator.up("--yes")
    # Nobody listens there: neither its timer nor its logs can be reached.
    host = {"kind": "ssh", "reach": "ssh://admin@127.0.0.1:1", "address": "10.0.0.1"}
    topology = {"name": "aws", "hosts": {"server": host}}
    (operator.state / "topology.json").write_text(json.dumps(topology))
    assert operator.run("bench").returncode == 1
    assert "destroy" not in operator.asked()
    done = operator.run("bench", "--then-down")
    assert (done.returncode, operator.asked()[-1]) == (1, "destroy")
    assert "everything is down" in done.stdout


@pytest.mark.parametrize("verb", ["bench", "fetch", "status"])
def test_without_hosts_a_verb_says_so(operator: Operator, verb: str) -> None:
    done = operator.run(verb)
    assert (done.returncode, done.stderr) == (
        1,
        "error: no hosts are up: run bench/aws/run up first\n",
    )


def test_the_topology_is_written_for_bench_run(operator: Operator) -> None:
    host = {"kind": "ssh", "reach": "admin@127.0.0.1", "address": "10.0.0.1"}
    made = operator.home / "made.json"
    made.write_text(json.dumps({"name": "aws", "hosts": {"server": host}}))
    # Nobody listens there, so `up` would wait for minutes: it is ended once the file is there.
    own = ("--caller-cidr", "192.0.2.7/32", "--public-key", str(operator.key), "--yes", "--keep")
    process = subprocess.Popen(
        operator.command("up", *own), env=operator.environment(STAND_IN_TOPOLOGY=str(made)),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    while not (operator.state / "up.json").exists():
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    process.communicate()
    written = json.loads((operator.state / "topology.json").read_text())["hosts"]["server"]
    assert written == host | {"config": str(operator.state / "ssh_config")}
    assert "StrictHostKeyChecking accept-new" in (operator.state / "ssh_config").read_text()
