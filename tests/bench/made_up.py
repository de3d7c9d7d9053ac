"""The description of a fake system, and the usage of its runs, for tests of the harness."""

from bench.hosts import Usage
from bench.processes import Used
from bench.systems.description import Description, Variant

USAGE = Usage(1.0, Used(1.0, 1), {"made up": Used(1.0, 1)}, Used(1.0, 1), None)


def description(name: str) -> Description:
    """Describes a system with one variant that takes the set `all`."""
    variants = {"http": Variant(name)}
    return Description(name, "", "service", 0, "", "", variants, ("all",))
