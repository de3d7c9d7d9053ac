"""Where commands run. Systems and load generators ask a host and do not know which kind it is.

`LocalHost` is this machine, `NamespaceHost` a network namespace of it with addresses of its
own, `SshHost` a machine that is reached by ssh. What they can do is `Host`. Nothing
in the harness opens a connection to a server: whoever has to, to load, to compare
answers or to measure, is a program that runs on a host.
"""

from bench.hosts.host import STATE, CommandFailed, Host, Process, Service
from bench.hosts.local import LocalHost
from bench.hosts.measure import Parts, Usage, run_measured
from bench.hosts.namespace import NamespaceHost
from bench.hosts.ssh import Login, SshHost

__all__ = [
    "STATE",
    "CommandFailed",
    "Host",
    "LocalHost",
    "Login",
    "NamespaceHost",
    "Parts",
    "Process",
    "Service",
    "SshHost",
    "Usage",
    "run_measured",
]
