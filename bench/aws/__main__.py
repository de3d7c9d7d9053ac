"""`bench/aws/run up | bench | fetch | status | down`: the comparison on three hosts of AWS.

up makes the hosts and provisions them, bench measures on them, fetch brings their logs,
and results measured on a host itself, down deletes everything. A host that is
forgotten ends itself: after 240 minutes, unless --var minutes=N says otherwise, which bench
counts anew. Where `up` fails, and with `bench --then-down` however it ends, everything is taken down.
"""

import argparse
import json
import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

from bench.aws import caller, prices
from bench.aws.choices import HERE, VARIANTS, NotPossible, Value, resolve
from bench.aws.commands import ENDING, Commands, Failed, say
from bench.aws.reach import ROOT, Hosts, write_configuration
from bench.aws.terraform import Terraform

STATE = HERE / ".state"
RESULTS = ROOT / "bench" / "results"


@dataclass(frozen=True)
class Aws:
    """The verbs."""

    commands: Commands

    @property
    def terraform(self) -> Terraform:
        """What AWS holds for us."""
        return Terraform(self.commands, STATE)

    @property
    def topology(self) -> Path:
        """The file that bench/run reads."""
        return STATE / "topology.json"

    def hosts(self) -> Hosts:
        """The hosts that are up."""
        return Hosts.read(self.commands, self.topology)

    def up(self, arguments: argparse.Namespace) -> None:
        """Makes the hosts; what was made is taken down where anything fails."""
        variables = resolve(arguments.variant, arguments.var)
        print(prices.estimate(variables, prices.overridden(arguments.price)).text(), flush=True)
        public_key = caller.public_key(arguments.public_key)
        cidr = caller.cidr(arguments.caller_cidr, self.commands.dry)
        commit = caller.commit()
        print(
            f"Variant {arguments.variant}: {VARIANTS[arguments.variant].what}. ssh is let in from {cidr}."
        )
        if not (
            arguments.yes or self.commands.dry or caller.agreed("This makes hosts that cost money.")
        ):
            raise NotPossible("nothing was made")
        own: dict[str, Value] = {"caller_cidr": cidr, "public_key_file": str(public_key)}
        try:
            self.terraform.up(variables | own)
            self._ready(arguments.variant, variables, public_key, commit)
        except BaseException:
            _go_on_alone()
            if arguments.keep:
                say("what was made stays up, and costs: bench/aws/run down")
            else:
                say("taking down what was made")
                self.down()
            raise

    def _ready(
        self, variant: str, variables: dict[str, Value], public_key: Path, commit: str
    ) -> None:
        if self.commands.dry:
            print(
                "    then on each host: wait for ssh, bring the commit, bench/provision/ROLE.sh --tune"
            )
            return
        configuration = write_configuration(STATE, public_key.with_suffix(""))
        topology = self.terraform.output("topology")
        for host in topology["hosts"].values():
            host["config"] = str(configuration)
        self.topology.write_text(json.dumps(topology, indent=1) + "\n")
        record = {
            "variant": variant,
            "minutes": variables["minutes"],
            "placed": self.terraform.output("placed"),
        }
        (STATE / "up.json").write_text(json.dumps(record, indent=1) + "\n")
        hosts = self.hosts()
        hosts.wait()
        hosts.check_armed()
        hosts.bring_repository(commit)
        hosts.provision()
        hosts.arm(int(variables["minutes"]))
        say("the hosts are up: bench/aws/run bench")

    def bench(self, arguments: argparse.Namespace) -> None:
        """Measures, with the timer set anew; the harness on this machine drives the hosts."""
        hosts = self.hosts()
        record = json.loads((STATE / "up.json").read_text())
        try:
            hosts.arm(record["minutes"])
            further = [*VARIANTS[record["variant"]].bench, *arguments.arguments]
            self.commands.run([ROOT / "bench" / "run", "--topology", self.topology, *further])
        finally:
            if arguments.then_down:
                _go_on_alone()
                self._fetch_then_down()

    def _fetch_then_down(self) -> None:
        try:
            self.fetch()
        finally:
            self.down()

    def fetch(self) -> None:
        """Brings what the hosts have; nothing here is written over."""
        self.hosts().fetch(RESULTS, STATE / "logs")
        say(f"results are in {RESULTS}, the servers' logs in {STATE / 'logs'}")

    def status(self) -> None:
        """How long each host has."""
        hosts = self.hosts()
        for role, reach in hosts.reach.items():
            left = hosts.minutes_left(role)
            print(
                f"{role:8}{reach:32}"
                + ("no timer is armed" if left is None else f"ends itself in {left} minutes")
            )

    def down(self) -> None:
        """Deletes everything; does nothing where there is nothing."""
        if not self.commands.dry and not self.terraform.anything():
            say("nothing is up")
            return
        try:
            self.terraform.down()
        except Failed:
            say(
                "NOT everything is down, and what is left costs: run this again, and look at the EC2 console"
            )
            raise
        if not self.commands.dry:
            self.topology.unlink(missing_ok=True)
        say("everything is down")


def _go_on_alone() -> None:
    """Lets what takes down finish, though the terminal is gone or a pipe's reader with it."""
    for name in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, signal.SIG_IGN)
    try:
        print(flush=True)
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.dup2(nowhere, sys.stderr.fileno())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="bench/aws/run",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="say what would be run, and run nothing"
    )
    verbs = parser.add_subparsers(dest="verb", required=True)
    up = verbs.add_parser("up", help="make and provision the hosts")
    variants = "; ".join(f"{name}: {variant.what}" for name, variant in VARIANTS.items())
    up.add_argument("--variant", choices=VARIANTS, default="as-2022", help=variants)
    up.add_argument(
        "--var", action="append", default=[], metavar="NAME=VALUE", help="of bench/aws/variables.tf"
    )
    up.add_argument(
        "--price",
        action="append",
        default=[],
        metavar="TYPE=USD",
        help="an hour's price, for the estimate",
    )
    up.add_argument("--caller-cidr", help="who may use ssh; default: this machine's address")
    up.add_argument(
        "--public-key", type=Path, help="default: the first of ~/.ssh/" + ", ".join(caller.KEYS)
    )
    up.add_argument("--yes", action="store_true", help="do not ask before making what costs money")
    up.add_argument("--keep", action="store_true", help="leave what was made where something fails")
    bench = verbs.add_parser("bench", help="measure; arguments after -- go to bench/run")
    bench.add_argument(
        "--then-down", action="store_true", help="fetch and take down however it ends"
    )
    bench.add_argument("arguments", nargs="*", help="such as -- --workload quick")
    verbs.add_parser("fetch", help="bring the hosts' logs, and results measured there")
    verbs.add_parser("status", help="how long the hosts have")
    verbs.add_parser("down", help="delete everything")
    return parser


def main() -> None:
    """Does one verb."""
    arguments = _parser().parse_args()
    # Each takes down what a Ctrl-C would.
    for name in ENDING:
        signal.signal(name, signal.default_int_handler)
    aws = Aws(Commands(arguments.dry_run))
    takes_arguments = {"up": aws.up, "bench": aws.bench}
    try:
        if arguments.verb in takes_arguments:
            takes_arguments[arguments.verb](arguments)
        else:
            getattr(aws, arguments.verb)()
    except (NotPossible, Failed) as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        sys.exit("interrupted")
    except BrokenPipeError:
        # Whoever read this has gone, and is told nothing more.
        _go_on_alone()
        sys.exit(1)


if __name__ == "__main__":
    main()
