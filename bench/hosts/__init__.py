"""Where commands run.

Nothing in the harness opens a connection to a server: whoever has to, to load, to compare
answers or to measure, is a function that is called on a host.
"""

from bench.agent import CommandFailed
from bench.hosts.host import (
    STATE,
    Address,
    Host,
    Login,
    Process,
    Service,
    local,
    namespace,
    over_ssh,
)
from bench.hosts.measure import Parts, Usage, run_measured

__all__ = [
    "STATE",
    "Address",
    "CommandFailed",
    "Host",
    "Login",
    "Parts",
    "Process",
    "Service",
    "Usage",
    "local",
    "namespace",
    "over_ssh",
    "run_measured",
]
