"""The entries of the comparison: a system in one of its variants, named and drawn as its system.toml says.

A system that no folder describes any more keeps its results: it is named as the harness named it.
"""

from dataclasses import dataclass

from bench.systems.description import SIDES, described

POSTGRES, PYTHON = SIDES
# The variants that load generators ask.
GENERATED = ("simple", "prepared", "http")


@dataclass(frozen=True)
class Entry:
    """One entry."""

    system: str
    variant: str
    label: str
    side: str
    colour: str = "#777777"
    marker: str = "o"
    line: str = "-"
    what: str = ""

    @property
    def program(self) -> bool:
        """Whether a program asks it as an application would, and no load generator."""
        return self.variant not in GENERATED


_KNOWN = {
    (system.name, name): Entry(
        system.name, name, one.label, system.side, one.colour, one.marker, one.line, system.what
    )
    for system in described().values()
    for name, one in system.variants.items()
}
ALL = (*_KNOWN.values(),)
# The entries that the comparison is about.
MAIN = tuple(one for one in ALL if described()[one.system].main)


def entry(system: str, variant: str) -> Entry:
    """The entry of that system and variant."""
    side = POSTGRES if system.startswith(POSTGRES) else PYTHON
    plain = Entry(system, variant, f"{system} ({variant})", side)
    return _KNOWN.get((system, variant), plain)


SIMPLE, PREPARED = entry("postgres_direct", "simple"), entry("postgres_direct", "prepared")
TUNED, ONE_THREAD = entry("python_tuned", "http"), entry("python_published_one_thread", "http")
# The service of 2022 as it was is for the record.
AS_PUBLISHED = entry("python_published", "http")
