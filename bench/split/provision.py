"""Makes each namespace ready by the script of its role: the one that a host of AWS is made ready by.

All share this machine's files, and from a namespace no package registry can be reached. So
`make bench-split` runs the scripts on the machine first, where they install what it lacks; here they find all
of it or end the run. Without --tune, since what that sets would stay with the machine.
"""

from collections.abc import Mapping

from bench.hosts import Host
from bench.hosts.host import ROOT

SCRIPTS = ROOT / "bench" / "provision"


def provision(roles: Mapping[str, Host]) -> None:
    """Runs each role's script on its host, and says what it says."""
    for role, host in roles.items():
        for line in host.run([SCRIPTS / f"{role}.sh"]).splitlines():
            print(f"[{role}] {line}", flush=True)
