"""A network namespace of this machine: files and processes are this machine's, addresses its own."""

from pathlib import Path

from bench.hosts.host import Command
from bench.hosts.local import LocalHost

NAMESPACES = Path("/run/netns")


class NamespaceHost(LocalHost):
    """Commands enter the namespace and then become what was asked for, so the process id stays."""

    def __init__(self, namespace: str, name: str, address: str, directory: Path) -> None:
        super().__init__(directory, name, address)
        self.namespace = namespace

    def _command(self, command: Command, user: str | None = None) -> list[str]:
        enter = ["nsenter", f"--net={NAMESPACES / self.namespace}", "--"]
        return [*enter, *super()._command(command, user)]
