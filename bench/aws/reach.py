"""The hosts over ssh: wait for them, bring the repository, provision, arm the timer, fetch.

ssh runs with a configuration of its own in .state/, so that neither the operator's nor its list of
known hosts is touched. A host's key is taken as found at the first connection after `up`.
"""

import json
import shlex
import time
from dataclasses import dataclass
from pathlib import Path

from bench.aws.choices import NotPossible
from bench.aws.commands import Commands, Failed, say

ROOT = Path(__file__).resolve().parent.parent.parent
REPOSITORY = "/opt/pgboost"
PATIENCE_SECONDS = 300

# Where systemd says when it is to shut down.
_SCHEDULED = "/run/systemd/shutdown/scheduled"


def write_configuration(state: Path, private_key: Path) -> Path:
    """ssh's configuration for these hosts alone."""
    file, known = state / "ssh_config", state / "known_hosts"
    # The addresses of hosts that are gone come back with other keys.
    known.unlink(missing_ok=True)
    key = (
        f'IdentityFile "{private_key}"\n    IdentitiesOnly yes\n' if private_key.exists() else "\n"
    )
    file.write_text(
        "Host *\n"
        f'    {key}    UserKnownHostsFile "{known}"\n'
        "    StrictHostKeyChecking accept-new\n    BatchMode yes\n"
        "    ConnectTimeout 10\n    ServerAliveInterval 15\n"
    )
    return file


@dataclass(frozen=True)
class Hosts:
    """The hosts of a topology file, by role."""

    commands: Commands
    reach: dict[str, str]
    configuration: Path

    @classmethod
    def read(cls, commands: Commands, topology: Path) -> "Hosts":
        """Those that `up` wrote down."""
        if not topology.exists():
            raise NotPossible("no hosts are up: run bench/aws/run up first")
        hosts = json.loads(topology.read_text())["hosts"]
        reach = {role: host["reach"] for role, host in hosts.items()}
        return cls(commands, reach, topology.parent / "ssh_config")

    def _ssh(self, role: str, *there: str) -> list[str | Path]:
        return ["ssh", "-F", self.configuration, self.reach[role], *there]

    def wait(self) -> None:
        """Until every host lets in and has done its first boot."""
        for role in self.reach:
            say(f"waiting for the {role}")
            self._wait_for(role)
            # Debian's image runs cloud-init, whose package work would be in the way.
            self.commands.ask(
                self._ssh(
                    role, "command -v cloud-init >/dev/null && cloud-init status --wait || true"
                )
            )

    def _wait_for(self, role: str) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                self.commands.ask(self._ssh(role, "true"))
                return
            except Failed as error:
                if time.monotonic() > deadline:
                    raise Failed(f"the {role} does not let in: {error}") from error
                time.sleep(3)

    def bring_repository(self, commit: str) -> None:
        """The commit's files, where the hosts have not got them; results stay here."""
        mark = f"{REPOSITORY}/.commit"
        for role in self.reach:
            if (
                self.commands.ask(self._ssh(role, f"cat {mark} 2>/dev/null || true")).strip()
                == commit
            ):
                continue
            say(f"bringing the repository to the {role}")
            archive = [
                "git",
                "-C",
                ROOT,
                "archive",
                "--format=tar",
                commit,
                "--",
                ".",
                ":(exclude)bench/results",
            ]
            # The files get the time of now, so that the build sees what is newer than it. A
            # provisioning that was interrupted left files that are root's.
            unpack = (
                f"sudo mkdir -p {REPOSITORY} && sudo chown -R $(id -u) {REPOSITORY} && "
                f"tar -x -m -C {REPOSITORY} && echo {commit} > {mark}"
            )
            self.commands.pipe(archive, self._ssh(role, unpack))

    def provision(self) -> None:
        """Runs every host's role script, all at the same time."""
        say("provisioning, some minutes the first time")
        script = f"sudo {REPOSITORY}/bench/provision/{{}}.sh --tune"
        self.commands.together({role: self._ssh(role, script.format(role)) for role in self.reach})

    def arm(self, minutes: int) -> None:
        """Sets every host's timer anew."""
        for role in self.reach:
            self.commands.ask(self._ssh(role, f"sudo shutdown -h +{minutes} 2>&1"))
        self.check_armed()
        say(f"the hosts end themselves in {minutes} minutes")

    def check_armed(self) -> None:
        """An error unless every host will end itself: one without a timer costs until noticed."""
        for role in self.reach:
            if not self.commands.dry and self.minutes_left(role) is None:
                raise Failed(f"the {role} would never end itself: its timer is not armed")

    def minutes_left(self, role: str) -> int | None:
        """How long a host has; None where no timer is armed."""
        now_and_then = self.commands.ask(
            self._ssh(role, f"date +%s; sed -n s/^USEC=//p {_SCHEDULED} 2>/dev/null || true")
        )
        times = now_and_then.split()
        return (int(times[1]) // 1_000_000 - int(times[0])) // 60 if len(times) == 2 else None

    def fetch(self, results: Path, logs: Path) -> None:
        """What was measured on a host itself into `results`, the servers' logs into `logs`."""
        for role in self.reach:
            say(f"fetching from the {role}")
            self._fetch_tree(role, f"{REPOSITORY}/bench/results", results, "*")
            self._fetch_tree(role, f"{REPOSITORY}/.bench", logs / role, "*.log")

    def _fetch_tree(self, role: str, there: str, here: Path, pattern: str) -> None:
        """The files of that name, none of them over one that is here."""
        if not self.commands.dry:
            here.mkdir(parents=True, exist_ok=True)
        # A cluster's files belong to its user, and a tar of nothing is a tar.
        pack = (
            f"cd {there} 2>/dev/null || cd $(mktemp -d); "
            f"sudo find . -type f -name {shlex.quote(pattern)} -print0 | sudo tar -c --null -T -"
        )
        self.commands.pipe(
            self._ssh(role, pack), ["tar", "-x", "--skip-old-files", "--no-same-owner", "-C", here]
        )
